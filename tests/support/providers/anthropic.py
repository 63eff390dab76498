"""The wire format of Anthropic's messages, streamed: docs.anthropic.com/en/api/messages-streaming."""

import json
from typing import Any

PREFIX = ""

_FINISH = {"length": "max_tokens", "refused": "refusal"}
_FAILURES: dict[str, tuple[int, str, str]] = {
    "unauthorized": (401, "authentication_error", "invalid x-api-key"),
    "rate_limited": (429, "rate_limit_error", "This request would exceed your organization's rate limit."),
    "quota": (400, "billing_error", "Your credit balance is too low to access the Anthropic API."),
    "server_error": (500, "api_error", "Internal server error"),
    "overloaded": (529, "overloaded_error", "Overloaded"),
    "too_long": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "refused": (400, "invalid_request_error", "Output blocked by content filtering policy"),
    "bad_image": (400, "invalid_request_error", "messages.0.content.1.image: Could not process image"),
}


def failure(kind: str, echo: str = "", retry_after: float | None = None) -> tuple[int, dict[str, Any]]:
    status, type_, message = _FAILURES[kind]
    return status, {"type": "error", "error": {"type": type_, "message": f"{message} {echo}".strip()}}


def trouble(kind: str) -> bytes:
    return _sse("error", failure(kind)[1])


def events(answer: Any, path: str, body: dict[str, Any]) -> list[bytes]:
    usage = {
        "input_tokens": answer.input_tokens - answer.cached_tokens - answer.written_tokens,
        "cache_read_input_tokens": answer.cached_tokens,
        "cache_creation_input_tokens": answer.written_tokens,
        "output_tokens": 1,
    }
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "content": [],
        "model": body["model"],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    found = [_sse("message_start", {"type": "message_start", "message": message})]
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = []
    if answer.pieces:
        blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": each} for each in answer.pieces]))
    for number, (name, arguments) in enumerate(answer.calls):
        text = json.dumps(arguments)
        halves = (text[: len(text) // 2], text[len(text) // 2 :])
        start = {"type": "tool_use", "id": f"toolu_{number}_{name}", "name": name, "input": {}}
        blocks.append((start, [{"type": "input_json_delta", "partial_json": half} for half in halves]))
    for index, (start, deltas) in enumerate(blocks):
        found.append(
            _sse("content_block_start", {"type": "content_block_start", "index": index, "content_block": start})
        )
        for delta in deltas:
            found.append(_sse("content_block_delta", {"type": "content_block_delta", "index": index, "delta": delta}))
        found.append(_sse("content_block_stop", {"type": "content_block_stop", "index": index}))
    reason = _FINISH.get(answer.finish) or ("tool_use" if answer.calls else "end_turn")
    ended = {"stop_reason": reason, "stop_sequence": None}
    found.append(
        _sse(
            "message_delta",
            {"type": "message_delta", "delta": ended, "usage": {"output_tokens": answer.output_tokens}},
        )
    )
    return [*found, _sse("message_stop", {"type": "message_stop"})]


def _sse(event: str, data: Any) -> bytes:
    return f"event: {event}\ndata: {json.dumps(data)}\n\n".encode()
