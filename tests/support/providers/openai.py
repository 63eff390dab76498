"""The wire format of OpenAI's chat completions, streamed: platform.openai.com/docs/api-reference/chat-streaming."""

import json
from typing import Any

PREFIX = "/v1"

_FINISH = {"length": "length", "refused": "content_filter"}
_FAILURES: dict[str, tuple[int, str, str | None, str]] = {
    "unauthorized": (401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    "rate_limited": (429, "requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    "quota": (429, "insufficient_quota", "insufficient_quota", "You exceeded your current quota."),
    "server_error": (500, "server_error", None, "The server had an error while processing your request."),
    "overloaded": (503, "service_unavailable_error", None, "The engine is currently overloaded."),
    "too_long": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "This model's maximum context length is 8192 tokens.",
    ),
    "refused": (
        400,
        "invalid_request_error",
        "content_policy_violation",
        "Your request was rejected as a result of our safety system.",
    ),
    "bad_image": (400, "invalid_request_error", "invalid_image_format", "You uploaded an unsupported image."),
}


def failure(kind: str, echo: str = "", retry_after: float | None = None) -> tuple[int, dict[str, Any]]:
    status, type_, code, message = _FAILURES[kind]
    return status, {"error": {"message": f"{message} {echo}".strip(), "type": type_, "param": None, "code": code}}


def trouble(kind: str) -> bytes:
    return _sse(failure(kind)[1])


def events(answer: Any, path: str, body: dict[str, Any]) -> list[bytes]:
    found = [_chunk(body, {"role": "assistant", "content": ""})]
    found += [_chunk(body, {"content": piece}) for piece in answer.pieces]
    for index, (name, arguments) in enumerate(answer.calls):
        text = json.dumps(arguments)
        call = {"index": index, "id": f"call_{index}_{name}", "type": "function"}
        found.append(_chunk(body, {"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]}))
        for part in (text[: len(text) // 2], text[len(text) // 2 :]):
            found.append(_chunk(body, {"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
    finish = _FINISH.get(answer.finish) or ("tool_calls" if answer.calls else "stop")
    found.append(_chunk(body, {}, finish))
    if body.get("stream_options", {}).get("include_usage"):
        usage = {
            "prompt_tokens": answer.input_tokens,
            "completion_tokens": answer.output_tokens,
            "total_tokens": answer.input_tokens + answer.output_tokens,
            "prompt_tokens_details": {"cached_tokens": answer.cached_tokens},
        }
        found.append(_sse({**_head(body), "choices": [], "usage": usage}))
    return [*found, b"data: [DONE]\n\n"]


def _head(body: dict[str, Any]) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}


def _chunk(body: dict[str, Any], delta: dict[str, Any], finish: str | None = None) -> bytes:
    return _sse({**_head(body), "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})


def _sse(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
