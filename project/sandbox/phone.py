"""The page that looks like a phone, and where https://t.me/<bot>?start=CODE would lead."""

import re

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET

from . import access, bots, chats
from .errors import DoorError
from .formatting import storable
from .models import Bot

START = re.compile(r"[A-Za-z0-9_-]{1,64}")  # https://core.telegram.org/bots/features#deep-linking
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


@require_GET
@xframe_options_sameorigin
def phone(request: HttpRequest, user_id: int) -> HttpResponse:
    """The phone of a person, open at the chat with the bot."""
    return page(request, chosen(request, request.GET.get("bot", "")), user_id)


@require_GET
@xframe_options_sameorigin
def open_link(request: HttpRequest, username: str) -> HttpResponse:
    """What a deep link shows: the chat with a Start button, which sends ``/start CODE``."""
    user_id = request.GET.get("user_id", "5001")
    code = request.GET.get("start", "")
    if not user_id.isdecimal() or len(user_id) > 20:
        raise Http404("user_id must be a number")
    return page(request, chosen(request, username), int(user_id), code if START.fullmatch(code) else "")


def page(request: HttpRequest, bot: Bot, user_id: int, start: str = "") -> HttpResponse:
    if not 0 < user_id < 2**62:
        raise Http404("no such person")
    person = chats.ensure_person(user_id)
    context = {"bot": bot, "person": person, "start": f"/start {start}" if start else ""}
    response = render(request, "sandbox/phone.html", context)
    response["Content-Security-Policy"] = POLICY
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "no-store"
    return response


def chosen(request: HttpRequest, wanted: str) -> Bot:
    if refused := access.refusal(request):
        raise Http404(refused[1])
    try:
        return bots.choose(str(storable(wanted)))
    except DoorError as error:
        raise Http404(error.message) from error
