"""Our own getUpdates loop: fetch, commit, and only then confirm.

python-telegram-bot's `run_polling` confirms before handlers end, and a kill loses what was queued. The offset is sent
only to confirm what was committed just before: Telegram drops for good what lies below an offset, and after a quiet
week its ids may start anywhere (https://core.telegram.org/bots/api#update).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, InterfaceError

from crossmemory import db
from crossmemory.exceptions import Fenced
from crossmemory.inbox import Incoming
from crossmemory.models import Poller
from crossmemory.surfaces.telegram import client, sending
from crossmemory.surfaces.telegram.content import fields
from crossmemory.surfaces.telegram.place import LEASE_SECONDS, RENEW_SECONDS, Place
from crossmemory.surfaces.telegram.updates import ASKED_FOR, kind_of, sender_of

if TYPE_CHECKING:
    from telegram import Bot

    from crossmemory.surfaces.telegram.surface import TelegramSurface

logger = logging.getLogger(__name__)

POLL_SECONDS = 25  # how long Telegram holds a getUpdates call open
_MARGIN_SECONDS = 15.0  # how much longer than that an answer may take before the connection counts as dead
_LIMIT = 100  # updates in one answer at most

State = Poller.State


class Polling:
    """One task: `await run()` until `stop()`. Survives conflicts, errors and dead connections; says so in the row."""

    def __init__(self, surface: TelegramSurface, owner: str, stored: Callable[[], None]) -> None:
        self.surface = surface
        self.place = Place(surface.alias, surface.account, owner)
        self.stored = stored
        #: monotonic time of the last getUpdates that Telegram answered, if only by an error; None before the first
        self.completed_at: float | None = None
        self.alive_at = time.monotonic()  # the loop itself goes on, whatever it met
        self.holds = False  # the lease is ours: this process is the one that shows how answers are written
        self._stopping = asyncio.Event()
        self._bot: Bot | None = None
        self._confirm = 0
        self._failures = 0
        self._state = ""

    def stop(self) -> None:
        """Take no more updates: a waiting call is dropped, what is being committed is committed."""
        self._stopping.set()

    async def run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.alive_at = time.monotonic()
                try:
                    if await db.run(self.place.take):
                        await self._hold()
                    else:
                        await self._note_waiting()
                        await self._pause(LEASE_SECONDS / 4)
                except (DatabaseError, InterfaceError) as error:
                    logger.warning("%s: polling waits for the database: %r", self.surface.alias, error)
                    await self._pause(1)
        finally:
            await self._rebuild()
            with contextlib.suppress(DatabaseError, InterfaceError):
                await db.run(self.place.release)

    async def _hold(self) -> None:
        """Poll while the lease is ours."""
        lost = asyncio.Event()
        self.completed_at, self._confirm, self._state, self.holds = None, 0, "", True
        renewing = asyncio.create_task(self._renew(lost))
        try:
            while not self._stopping.is_set() and not lost.is_set():
                self.alive_at = time.monotonic()
                fetching = asyncio.create_task(self._step())
                ends = [asyncio.create_task(self._stopping.wait()), asyncio.create_task(lost.wait())]
                await asyncio.wait([fetching, *ends], return_when=asyncio.FIRST_COMPLETED)
                fetching.cancel()  # committing is a thread's work, and a cancelled caller does not stop it
                for end in ends:
                    end.cancel()
                await asyncio.gather(fetching, *ends, return_exceptions=True)
                if not fetching.cancelled() and (error := fetching.exception()):
                    if isinstance(error, Fenced):
                        return
                    raise error
        finally:
            self.holds = False
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self, lost: asyncio.Event) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            with contextlib.suppress(DatabaseError, InterfaceError):
                if not await db.run(self.place.renew):
                    logger.warning("%s: another process polls this bot now.", self.surface.alias)
                    lost.set()
                    return

    async def _step(self) -> None:
        """One getUpdates call and what follows from it."""
        from telegram.error import Conflict, EndPointNotFound, InvalidToken, RetryAfter, TelegramError

        try:
            async with asyncio.timeout(POLL_SECONDS + _MARGIN_SECONDS):
                batch = await self._fetch()
        except Conflict as error:
            self._answered()
            await self._trouble(State.CONFLICT, str(error), longest=15)
        except (InvalidToken, EndPointNotFound) as error:
            self._answered()
            await self._trouble(State.UNAUTHORISED, str(error), longest=60)
        except RetryAfter as error:
            self._answered()
            await self._trouble(State.BACKING_OFF, str(error), exactly=sending.asked_to_wait(error))
        except TimeoutError:
            await self._trouble(State.BACKING_OFF, "No answer to getUpdates, not even an error.", rebuild=True)
        except TelegramError as error:
            if sending.was_answered(error):
                self._answered()
            await self._trouble(State.BACKING_OFF, str(error), rebuild=True)
        else:
            await self._received(batch)

    async def _fetch(self) -> list[Any]:
        if self._bot is None:
            self._bot = client.make_bot(self.surface.token, self.surface.api_url, connections=2)
        if not self.place.username:
            me = await self._bot.get_me()
            self.place.username = me.username or ""
            self.surface.learned(self.place.username)
        # Raw JSON, not Update objects: one update that a library cannot read must not cost the others. (The method's
        # name is written so that the library does not advise its own function, which would parse.)
        # The first call after a start or trouble does not wait, so that it is soon known whether all is well.
        wait = POLL_SECONDS if self._state == State.OK else 0
        found: Any = await self._bot.do_api_request(
            "GetUpdates",
            {"offset": self._confirm or None, "limit": _LIMIT, "timeout": wait, "allowed_updates": ASKED_FOR},
            read_timeout=wait + client.ANSWER_SECONDS,
        )
        return found if isinstance(found, list) else []

    async def _received(self, batch: list[Any]) -> None:
        updates = [update for update in map(fields, batch) if isinstance(update.get("update_id"), int)]
        incoming = [
            Incoming(str(update["update_id"]), kind_of(update), json.dumps(update).encode(), sender_of(update))
            for update in updates
        ]
        following = updates[-1]["update_id"] + 1 if updates else 0
        await asyncio.shield(asyncio.ensure_future(db.run(self.place.store, incoming, following or None)))
        self._confirm = following
        if self._state != State.OK:
            logger.info("%s: polling as @%s.", self.surface.alias, self.place.username)
        self._state, self._failures = State.OK, 0
        self._answered()
        if updates:
            self.stored()

    def _answered(self) -> None:
        self.completed_at = time.monotonic()

    async def _trouble(
        self, state: str, words: str, *, longest: float = 30, exactly: float | None = None, rebuild: bool = False
    ) -> None:
        """Say what is wrong, wait a while with chance in it, and try again."""
        words = client.without(self.surface.token, words)
        self._failures += 1
        if state != self._state:
            logger.warning("%s: %s: %s", self.surface.alias, state, words)
        self._state = state
        if rebuild:
            await self._rebuild()
        with contextlib.suppress(DatabaseError, InterfaceError):
            await db.run(self.place.note, state, words)
        pause = min(2.0 ** (self._failures - 1), longest) * random.uniform(0.5, 1)
        await self._pause(pause if exactly is None else exactly)

    async def _note_waiting(self) -> None:
        if self._state != State.WAITING:
            logger.info("%s: another process polls this bot; waiting for its lease.", self.surface.alias)
        self._state = State.WAITING

    async def _pause(self, seconds: float) -> None:
        """Wait, but not when we are to stop; the watchdog sees that this is meant."""
        until = time.monotonic() + seconds
        while not self._stopping.is_set() and (left := until - time.monotonic()) > 0:
            self.alive_at = time.monotonic()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, 5)):
                    await self._stopping.wait()

    async def _rebuild(self) -> None:
        """Drop the connections: the next call makes new ones."""
        bot, self._bot = self._bot, None
        if bot is not None:
            with contextlib.suppress(Exception):
                async with asyncio.timeout(5):
                    await client.close(bot)
