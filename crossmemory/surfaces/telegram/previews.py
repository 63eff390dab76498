"""What people see while an answer is being written: the typing action, then a draft with the text so far.

https://core.telegram.org/bots/api#sendchataction and #sendmessagedraft. A draft is no message: the phone drops it when
the answer arrives, or half a minute after the last change. So whatever dies, nothing is left of it and nothing doubles.
The text so far stands in the run's row, which the process that carries it out renews; this one only reads it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db import DatabaseError, InterfaceError
from django.db.models.functions import Now

from crossmemory import db
from crossmemory.clean import is_blank
from crossmemory.models import Run
from crossmemory.surfaces.telegram import rendering, sending

if TYPE_CHECKING:
    from crossmemory.surfaces.telegram.surface import TelegramSurface

logger = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5
_ACTION_LASTS = 4.5  # seconds; the platform shows one for five
_DRAFT_LASTS = 20.0  # seconds; the platform shows one for thirty
_CALL_SECONDS = 2.0  # an answer waits at most this long for a preview that is on its way
_WITHOUT_SECONDS = 600.0  # for which no further draft is tried where one was refused
_AT_MOST = 50  # chats at a time


@dataclass(frozen=True, slots=True)
class Writing:
    """An answer that is being written now."""

    run: int
    chat: str
    topic: str
    text: str

    @property
    def private(self) -> bool:
        """Groups and channels have negative ids; drafts are for private chats alone."""
        return self.chat.isdecimal()

    @property
    def draft_id(self) -> int:
        """The same for every draft of an answer, and never zero."""
        return self.run % (2**31 - 1) + 1


Show = Callable[[Writing], Awaitable[None]]


class Previews:
    """One task: `await run()`, for ever. `shows` says whether it is this process that shows them."""

    def __init__(self, surface: TelegramSurface, shows: Callable[[], bool] = lambda: True) -> None:
        self.surface, self.pace, self.shows = surface, surface.pace, shows
        self._typing_until: dict[str, float] = {}
        self._drafts: dict[str, tuple[Writing, float]] = {}  # what is shown in a chat, and since when
        self._without: dict[str, float] = {}  # until when no draft is tried; "": in no chat
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            while True:
                await asyncio.sleep(_LOOK_SECONDS)
                if self.shows():
                    await self.look()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def look(self) -> None:
        """Begin to show what has changed."""
        seen = self.pace.clock()
        try:
            found = await db.run(written_for, self.surface.alias, self.surface.account)
        except (DatabaseError, InterfaceError):
            return
        chats = {writing.chat for writing in found}
        for known in (self._typing_until, self._drafts):
            for chat in set(known) - chats:
                known.pop(chat)
        for writing in found:
            if self._may_draft(writing, seen):
                self._begin(writing, seen, self._draft)
            elif self._may_type(writing, seen):
                self._begin(writing, seen, self._type)

    def _may_draft(self, writing: Writing, now: float) -> bool:
        if not self.surface.previews or not writing.private or is_blank(writing.text):
            return False
        if max(self._without.get("", 0.0), self._without.get(writing.chat, 0.0)) > now:
            return False
        shown, since = self._drafts.get(writing.chat, (None, 0.0))
        return shown != writing or now - since > _DRAFT_LASTS

    def _may_type(self, writing: Writing, now: float) -> bool:
        return writing.chat not in self._drafts and self._typing_until.get(writing.chat, 0.0) <= now

    def _begin(self, writing: Writing, seen: float, show: Show) -> None:
        if self.pace.may_preview(writing.chat, seen):
            task = asyncio.create_task(self._carefully(show, writing))
            self.pace.under_way[writing.chat] = task
            self._tasks.add(task)
            task.add_done_callback(lambda done: self._ended(writing.chat, done))

    def _ended(self, chat: str, task: asyncio.Task[None]) -> None:
        self.pace.under_way.pop(chat, None)
        self._tasks.discard(task)

    async def _carefully(self, show: Show, writing: Writing) -> None:
        """Nobody misses a preview, so its errors are let go; a rate limit is honoured."""
        from telegram.error import BadRequest, Forbidden, InvalidToken, RetryAfter, TelegramError

        until = self.pace.clock() + _WITHOUT_SECONDS
        try:
            async with asyncio.timeout(_CALL_SECONDS):
                await show(writing)
        except RetryAfter as error:
            self.pace.close(writing.chat, sending.asked_to_wait(error), preview=True)
        except (BadRequest, Forbidden) as error:
            self._without[writing.chat] = until
            self._drafts.pop(writing.chat, None)
            logger.info("%s: no preview in a chat: %s", self.surface.alias, error)
        except InvalidToken:  # also what a server that does not know the method says
            self._without[""] = until
            self._drafts.clear()
        except (TelegramError, TimeoutError, ValueError, TypeError):
            pass

    async def _draft(self, writing: Writing) -> None:
        from telegram import MessageEntity

        piece = await asyncio.to_thread(rendering.preview, writing.text)
        self._drafts[writing.chat] = writing, self.pace.clock()
        await self.surface.bot().send_message_draft(
            int(writing.chat),
            writing.draft_id,
            piece.text,
            message_thread_id=int(writing.topic) if writing.topic else None,
            entities=[MessageEntity(**entity) for entity in piece.payload.get("entities", [])] or None,
        )

    async def _type(self, writing: Writing) -> None:
        self._typing_until[writing.chat] = self.pace.clock() + _ACTION_LASTS
        await self.surface.bot().send_chat_action(int(writing.chat), "typing")


def written_for(surface: str, account: str) -> list[Writing]:
    """The answers that somebody writes now, for chats of this account."""
    running = Run.objects.using(db.write_alias(Run)).filter(status=Run.Status.RUNNING, lease_until__gt=Now())
    places = running.filter(destination__surface=surface, destination__account=account)
    found = places.order_by("pk").values_list("pk", "destination", "preview")[:_AT_MOST]
    return [
        Writing(run, place["chat"], place.get("topic", ""), preview)
        for run, place, preview in found
        if place and place.get("chat")
    ]
