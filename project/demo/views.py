"""The demo's pages, and the doors its scenes use."""

import contextlib
import os
import signal
import uuid
from typing import Any

from django.conf import settings
from django.contrib.admin.views.decorators import staff_member_required
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import get_language
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_GET, require_POST

from crossmemory.models import Message, Preference
from project.demo.people import PASSWORD, PEOPLE, phone_of, real_telegram
from project.demo.processes import running
from project.demo.scenes import SCENES

BOT_MARK = "run_telegram_bot"
NOBODY = "00000000-0000-0000-0000-000000000000"


def policy(request: HttpRequest) -> str:
    """The Content-Security-Policy: nothing from elsewhere, nothing inline. Sockets are named for older browsers."""
    host = request.get_host()
    return (
        f"default-src 'self'; connect-src 'self' ws://{host} wss://{host}; img-src 'self' data:; object-src 'none'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'self'"
    )


def page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    response = render(request, template, context)
    response["Content-Security-Policy"] = policy(request)
    response["Referrer-Policy"] = "same-origin"
    return response


class SignIn(LoginView):
    """The sign-in page; on a developer's machine it offers the demo's people."""

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        people = PEOPLE if settings.DEBUG or settings.SANDBOX else ()
        return super().get_context_data(demo_people=people, password=PASSWORD, **kwargs)

    def render_to_response(self, context: dict[str, Any], **response_kwargs: Any) -> HttpResponse:
        response = super().render_to_response(context, **response_kwargs)
        response["Content-Security-Policy"] = policy(self.request)
        return response


@require_GET
@never_cache
@login_required
def demo(request: HttpRequest) -> HttpResponse:
    """Web chat and phone side by side, with the scenes."""
    speak(request)
    real = real_telegram()
    phone = phone_of(request.user)  # type: ignore[arg-type]
    context = {
        "scenes": [{"scene": scene, "off": real and scene.phone} for scene in SCENES],
        "play": {
            "phone": None if real else phone,
            "say": reverse("sandbox:say"),
            "outbox": reverse("sandbox:outbox"),
            "chat": reverse("sandbox:chat"),
            "bot": reverse("demo:bot"),
            "kill": reverse("demo:kill-bot"),
            "run": reverse("demo:run", args=[NOBODY]).replace(NOBODY, "{id}"),
            "tab": reverse("demo:tab", args=[NOBODY]).replace(NOBODY, "{id}"),
            "phrases": {scene.key: {name: str(words) for name, words in scene.phrases.items()} for scene in SCENES},
        },
        "phone": phone,
        "real_telegram": real,
    }
    return page(request, "demo/demo.html", context)


@require_GET
@never_cache
@login_required
@xframe_options_sameorigin
def tab(request: HttpRequest, conversation: uuid.UUID) -> HttpResponse:
    """A second tab with one conversation and a switch for airplane mode."""
    return page(request, "demo/tab.html", {"conversation": conversation})


@require_GET
@never_cache
@login_required
def bot(request: HttpRequest) -> JsonResponse:
    """`{"pid": …}` of the bot that the demo command runs; null while there is none."""
    check_open()
    return JsonResponse({"pid": running("bot", BOT_MARK)})


@require_POST
@login_required
def kill_bot(request: HttpRequest) -> JsonResponse:
    """Kill the bot as a power cut would. Only where a developer is at work; the demo command starts it again."""
    check_open()
    pid = running("bot", BOT_MARK)
    if pid is None:
        return JsonResponse({"detail": "The demo command runs no bot at this moment."}, status=409)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    return JsonResponse({"killed": pid})


@require_GET
@staff_member_required
def run(request: HttpRequest, message: uuid.UUID) -> HttpResponse:
    """From an answer to the page of its run in the admin, which says what the assistant saw."""
    found = get_object_or_404(Message.objects.select_related("run"), uid=message, run__isnull=False)
    return redirect("admin:crossmemory_run_change", found.run_id)


def check_open() -> None:
    if not (settings.DEBUG or settings.SANDBOX):
        raise Http404("this door is for a developer's machine")


def speak(request: HttpRequest) -> None:
    """The assistant talks to this person in the language of the page, on every surface."""
    language = get_language() or settings.LANGUAGE_CODE
    user: Any = request.user
    known = Preference.objects.filter(user_id=user.pk, tenant="").values_list("language", flat=True).first()
    if (known or settings.LANGUAGE_CODE) != language:
        Preference.objects.update_or_create(user_id=user.pk, tenant="", defaults={"language": language})
