"""The door for bots: ``/sandbox/telegram/bot<token>/<method>``."""

import asyncio
import json
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from . import access, bots, faults, params, polling
from .errors import ApiError
from .methods import METHODS
from .models import Bot, Fault


@csrf_exempt
@transaction.non_atomic_requests
async def call(request: HttpRequest, token: str, method: str) -> HttpResponseBase:
    """One call of a bot, or the failure that was planned for it."""
    if refused := access.refusal(request):
        return _refused(ApiError(*refused))
    try:
        values = params.read(request)
        bot = await sync_to_async(bots.from_token)(token)
        fault = await sync_to_async(faults.take)(method, _chat_id(values))
        if fault is None:
            return _answer(await act(bot, method, values))
        return await spoiled(fault, bot, method, values)
    except ApiError as error:
        return _refused(error)


async def act(bot: Bot, method: str, values: params.Params) -> Any:
    if method.lower() == "getupdates":
        return await polling.get_updates(polling.read(bot, values))
    function = METHODS.get(method.lower())
    if function is None:
        raise ApiError(404, "Not Found: method not found")
    return await sync_to_async(function)(bot, values)


async def spoiled(fault: Fault, bot: Bot, method: str, values: params.Params) -> HttpResponseBase:
    """What a bot gets to see of a call that meets ``fault``."""
    if fault.drop in (Fault.Drop.SLOW, Fault.Drop.BROKEN):
        answer = _answer(await act(bot, method, values)).content
        return faults.trickling(answer, fault.delay) if fault.drop == Fault.Drop.SLOW else HttpResponse(b"<html>oops")
    if fault.drop == Fault.Drop.AFTER:
        await act(bot, method, values)
    await asyncio.sleep(fault.delay)
    if fault.drop:
        return faults.dropped()
    if error := faults.refusal(fault):
        return _refused(error)
    return _answer(await act(bot, method, values))


def _chat_id(values: params.Params) -> int | None:
    text = values.text("chat_id")
    return int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else None


def _answer(result: Any) -> HttpResponse:
    return HttpResponse(json.dumps({"ok": True, "result": result}), content_type="application/json")


def _refused(error: ApiError) -> HttpResponse:
    body: dict[str, Any] = {"ok": False, "error_code": error.status, "description": error.description}
    if error.parameters:
        body["parameters"] = error.parameters
    response = HttpResponse(json.dumps(body), content_type="application/json", status=error.status)
    if error.parameters and "retry_after" in error.parameters:
        response["Retry-After"] = str(error.parameters["retry_after"])
    return response
