"""Planned failures: which one meets a call, and what it does to it."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from django.db.models import F, Q
from django.http import StreamingHttpResponse

from .errors import ApiError
from .models import Fault

_TRICKLE_SECONDS = 0.1

WORDS = {
    400: "Bad Request: can't parse entities",
    401: "Unauthorized",
    403: "Forbidden: bot was blocked by the user",
    404: "Not Found",
    409: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
    500: "Internal Server Error",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


def take(method: str, chat_id: int | None) -> Fault | None:
    """The oldest fault that applies to this call, used up by one."""
    wanted = Fault.objects.filter(Q(method=method.lower()) | Q(method="*"))
    for fault in wanted.filter(Q(chat_id=None) | Q(chat_id=chat_id)).order_by("id"):
        if fault.times is None:
            return fault
        if Fault.objects.filter(pk=fault.pk, times__gt=0).update(times=F("times") - 1):
            return fault
    return None


def refusal(fault: Fault) -> ApiError | None:
    """The error answer that ``fault`` asks for, if any."""
    parameters: dict[str, Any] = {}
    if fault.retry_after is not None:
        parameters["retry_after"] = fault.retry_after
    if fault.migrate_to_chat_id is not None:
        parameters["migrate_to_chat_id"] = fault.migrate_to_chat_id
    status = fault.status
    if status is None:
        if not parameters:
            return None
        status = 429 if fault.retry_after is not None else 400
    if fault.description:
        words = fault.description
    elif fault.migrate_to_chat_id is not None:
        words = "Bad Request: group chat was upgraded to a supergroup chat"
    elif status == 429:
        words = f"Too Many Requests: retry after {fault.retry_after or 0}"
    else:
        words = WORDS.get(status, "Internal Server Error")
    return ApiError(status, words, parameters or None)


def dropped() -> StreamingHttpResponse:
    """An answer that breaks off: the client sees the connection close before the body is complete.

    Django takes the cancellation for a client that left and ends the request unfinished; the server then closes
    the connection (uvicorn) or leaves it silent until the client gives up (daphne).
    """

    async def nothing() -> AsyncIterator[bytes]:
        yield b" "
        raise asyncio.CancelledError

    response = StreamingHttpResponse(nothing(), content_type="application/json")
    response["Content-Length"] = "1000"
    return response


def trickling(answer: bytes, seconds: float) -> StreamingHttpResponse:
    """An answer that keeps coming, a little at a time, so that no single wait is long."""

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(int(seconds / _TRICKLE_SECONDS)):
            yield b" "  # JSON does not mind
            await asyncio.sleep(_TRICKLE_SECONDS)
        yield answer

    return StreamingHttpResponse(pieces(), content_type="application/json")
