"""Telegram brings updates to the site itself: the view that stores them, and the process that sees to it.

The view runs in the site's own server: an inbox row is committed, then Telegram hears 200. Everything behind it is what
polling has too. https://core.telegram.org/bots/api#setwebhook
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import time
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, InterfaceError, transaction
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from crossmemory import db, inbox
from crossmemory.conf import settings
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import surfaces
from crossmemory.surfaces.telegram.content import fields
from crossmemory.surfaces.telegram.holding import Receiving, State
from crossmemory.surfaces.telegram.surface import TelegramSurface
from crossmemory.surfaces.telegram.updates import ASKED_FOR, incoming

if TYPE_CHECKING:
    from telegram import Bot, WebhookInfo

logger = logging.getLogger(__name__)

MAX_BYTES = 1_000_000  # of one update; Telegram's are far smaller
LOOK_SECONDS = 20.0  # how often Telegram is asked how its deliveries go
_LATELY_SECONDS = 120.0  # an error of so long ago says nothing any more
_AT_ONCE = 40  # connections that Telegram opens at most


def secret_of(surface: TelegramSurface) -> str:
    """What Telegram says in X-Telegram-Bot-Api-Secret-Token: made from the bot's token, so both sides know it."""
    return hmac.new(surface.token.encode(), b"crossmemory webhook", hashlib.sha256).hexdigest()


@csrf_exempt
@require_POST
def receive(request: HttpRequest, alias: str) -> HttpResponse:
    """Store one update; 200 only when it is committed, so that Telegram repeats what was not.

    404 for an alias that is no bot, 403 for another secret, 413 and 400 for what cannot be Telegram's, 503 while the
    database is away.
    """
    surface = surfaces[alias] if alias in settings.SURFACES else None
    if not isinstance(surface, TelegramSurface):
        return HttpResponse(status=404)
    said = request.headers.get("X-Telegram-Bot-Api-Secret-Token", "")
    if not hmac.compare_digest(said.encode(), secret_of(surface).encode()):
        return HttpResponse(status=403)
    if int(request.headers.get("Content-Length") or 0) > MAX_BYTES:
        return HttpResponse(status=413)
    raw = request.body
    try:
        update = fields(json.loads(raw))
    except (ValueError, RecursionError):
        update = {}
    if (found := incoming(update, raw)) is None:
        return HttpResponse(status=400)
    try:
        with transaction.atomic(using=db.write_alias(InboundUpdate)):
            inbox.store_all(alias, surface.account, [found], ids_return=True)
    except (DatabaseError, InterfaceError) as error:
        logger.warning("%s: an update could not be stored; Telegram brings it again: %r", alias, error)
        return HttpResponse(status=503)
    return HttpResponse(status=200)


class Webhook(Receiving):
    """Tells Telegram where to bring updates, and watches whether they arrive. What waits there is never dropped."""

    def __init__(self, surface: TelegramSurface, owner: str, url: str) -> None:
        super().__init__(surface, owner)
        self.url = url
        self._told = False

    def _begin(self) -> None:
        super()._begin()
        self._told = False

    async def _ask(self, bot: Bot) -> WebhookInfo:
        if not self._told:
            await bot.set_webhook(
                self.url,
                secret_token=secret_of(self.surface),
                allowed_updates=ASKED_FOR,
                max_connections=_AT_ONCE,
                drop_pending_updates=False,
            )
            self._told = True
        return await bot.get_webhook_info()

    async def _take(self, info: WebhookInfo) -> None:
        self._answered()
        if info.url != self.url:
            self._told = False
            await self._trouble(State.CONFLICT, "Somebody else changed where updates are brought.", longest=15)
            return
        failed_at: Any = info.last_error_date
        if info.pending_update_count and failed_at and time.time() - failed_at.timestamp() < _LATELY_SECONDS:
            words = f"Telegram cannot bring {info.pending_update_count} updates: {info.last_error_message}"
            await self._trouble(State.BACKING_OFF, words, exactly=LOOK_SECONDS)
            return
        await db.run(self.place.note, State.OK)
        self._well(f"updates come to {self.url} for")
        await self._pause(LOOK_SECONDS)
