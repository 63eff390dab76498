"""`{% load crossmemory %}{% crossmemory_chat %}`: the web chat, anywhere in a site's own page."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import template
from django.conf import settings
from django.middleware.csrf import get_token
from django.shortcuts import resolve_url
from django.template import Context
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import get_language

from crossmemory.conf import settings as crossmemory_settings
from crossmemory.text import chat_strings

register = template.Library()

SOCKET_PATH = "/ws/crossmemory/conversations/"
"""Path below which the sockets are served, one per conversation: `<path><uuid>/`."""


@register.inclusion_tag("crossmemory/chat.html", takes_context=True)
def crossmemory_chat(
    context: Context,
    conversation: UUID | str = "",
    agent: str = "",
    socket_path: str = SOCKET_PATH,
    local_copy: bool = True,
) -> dict[str, Any]:
    """The chat of the person who is signed in; for anybody else an invitation to sign in.

    `conversation` opens that one first, `agent` is the alias that answers new chats. `local_copy=False` keeps
    nothing in the browser beyond the page. Runs under a strict Content-Security-Policy: no inline script is
    executed, no inline style is used. The element's property `conversation` is the id of the chat that is open, and
    its event `crossmemory-open` tells of another one.
    """
    request = context.get("request")
    user = getattr(request, "user", None)
    known = request is not None and user is not None and user.is_authenticated
    return {
        "api": reverse("crossmemory:conversation-list"),
        "socket": socket_path,
        "user": str(user.pk) if known and user is not None else "",
        # The page's own token, not the cookie: it ends when somebody else signs in, and with it what this
        # page may write.
        "csrf": get_token(request) if known and request is not None else "",
        "login": resolve_url(settings.LOGIN_URL),
        "conversation": str(conversation),
        "agent": agent,
        "local_copy": "on" if local_copy else "off",
        "language": get_language() or settings.LANGUAGE_CODE,
        "time_zone": _chosen_time_zone(),
        "limits": crossmemory_settings,
        "strings": chat_strings(),
        "strings_id": "crossmemory-strings",
    }


def _chosen_time_zone() -> str:
    """The zone the site activated for this person; empty leaves it to the browser, which knows where they are."""
    current = timezone.get_current_timezone_name()
    return "" if current == timezone.get_default_timezone_name() else current
