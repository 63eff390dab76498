"""The wire format of Gemini's streamGenerateContent: ai.google.dev/api/generate-content."""

import json
from typing import Any

PREFIX = ""

_FINISH = {"length": "MAX_TOKENS", "refused": "SAFETY"}
_FAILURES: dict[str, tuple[int, str, str]] = {
    "unauthorized": (401, "UNAUTHENTICATED", "Request had invalid authentication credentials."),
    "rate_limited": (429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
    "quota": (400, "FAILED_PRECONDITION", "User location is not supported without billing: enable billing."),
    "server_error": (500, "INTERNAL", "An internal error has occurred."),
    "overloaded": (503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    "too_long": (
        400,
        "INVALID_ARGUMENT",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    ),
    "bad_image": (400, "INVALID_ARGUMENT", "Unable to process input image. Please retry or report."),
}


def failure(kind: str, echo: str = "", retry_after: float | None = None) -> tuple[int, dict[str, Any]]:
    status, name, message = _FAILURES[kind]
    details = []
    if retry_after is not None:
        details.append({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after:g}s"})
    error = {"code": status, "message": f"{message} {echo}".strip(), "status": name, "details": details}
    return status, {"error": error}


def trouble(kind: str) -> bytes:
    return _sse(failure(kind)[1])


def events(answer: Any, path: str, body: dict[str, Any]) -> list[bytes]:
    model = path.partition(":")[0].rpartition("/")[2]
    if answer.finish == "refused" and not answer.pieces:
        return [_sse({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, **_usage(answer)})]
    found = [_sse(_candidate(model, {"text": piece})) for piece in answer.pieces]
    found += [_sse(_candidate(model, {"functionCall": {"name": name, "args": args}})) for name, args in answer.calls]
    return [*found, _sse({**_candidate(model, {"text": ""}, _FINISH.get(answer.finish, "STOP")), **_usage(answer)})]


def _candidate(model: str, part: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [part], "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "modelVersion": model}


def _usage(answer: Any) -> dict[str, Any]:
    return {
        "usageMetadata": {
            "promptTokenCount": answer.input_tokens,
            "cachedContentTokenCount": answer.cached_tokens,
            "candidatesTokenCount": answer.output_tokens,
            "totalTokenCount": answer.input_tokens + answer.output_tokens,
        }
    }


def _sse(data: Any) -> bytes:
    return f"data: {json.dumps(data)}\n\n".encode()
