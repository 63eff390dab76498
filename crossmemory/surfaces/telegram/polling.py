"""Our own getUpdates loop: fetch, commit, and only then confirm.

python-telegram-bot's `run_polling` confirms before handlers end, and a kill loses what was queued. The offset is sent
only to confirm what was committed just before: Telegram drops for good what lies below an offset, and after a quiet
week its ids may start anywhere (https://core.telegram.org/bots/api#update).
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crossmemory import db
from crossmemory.surfaces.telegram import client
from crossmemory.surfaces.telegram.content import fields
from crossmemory.surfaces.telegram.holding import Receiving, State
from crossmemory.surfaces.telegram.updates import ASKED_FOR, incoming

if TYPE_CHECKING:
    from telegram import Bot

    from crossmemory.surfaces.telegram.surface import TelegramSurface

POLL_SECONDS = 25  # how long Telegram holds a getUpdates call open
_MARGIN_SECONDS = 15.0  # how much longer than that an answer may take before the connection counts as dead
_LIMIT = 100  # updates in one answer at most


class Polling(Receiving):
    """Asks Telegram for updates."""

    def __init__(
        self, surface: TelegramSurface, owner: str, stored: Callable[[], None], *, delete_webhook: bool = False
    ) -> None:
        super().__init__(surface, owner)
        self.stored = stored
        self._delete_webhook = delete_webhook  # else one that is set is a conflict: somebody may mean it
        self._confirm = 0

    @property
    def patience(self) -> float:
        return POLL_SECONDS + _MARGIN_SECONDS

    def _begin(self) -> None:
        super()._begin()
        self._confirm = 0

    async def _ask(self, bot: Bot) -> list[Any]:
        if self._delete_webhook:
            await bot.delete_webhook(drop_pending_updates=False)
            self._delete_webhook = False
        # Raw JSON, not Update objects: one update that a library cannot read must not cost the others. (The method's
        # name is written so that the library does not advise its own function, which would parse.)
        # The first call after a start or trouble does not wait, so that it is soon known whether all is well.
        wait = POLL_SECONDS if self._state == State.OK else 0
        found: Any = await bot.do_api_request(
            "GetUpdates",
            {"offset": self._confirm or None, "limit": _LIMIT, "timeout": wait, "allowed_updates": ASKED_FOR},
            read_timeout=wait + client.ANSWER_SECONDS,
        )
        return found if isinstance(found, list) else []

    async def _take(self, batch: list[Any]) -> None:
        rows = [row for update in map(fields, batch) if (row := incoming(update, json.dumps(update).encode()))]
        following = int(rows[-1].external_id) + 1 if rows else 0
        await asyncio.shield(asyncio.ensure_future(db.run(self.place.store, rows, following or None)))
        self._confirm = following
        self._well("polling as")
        if rows:
            self.stored()
