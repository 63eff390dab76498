"""Holding a bot's place: one process receives for a bot, says how that goes, and survives what it meets."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import time
from typing import TYPE_CHECKING, Any

from django.db import DatabaseError, InterfaceError

from crossmemory import db
from crossmemory.exceptions import Fenced
from crossmemory.models import Poller
from crossmemory.surfaces.telegram import client, sending
from crossmemory.surfaces.telegram.place import LEASE_SECONDS, RENEW_SECONDS, Place

if TYPE_CHECKING:
    from telegram import Bot

    from crossmemory.surfaces.telegram.surface import TelegramSurface

logger = logging.getLogger(__name__)

State = Poller.State


class Receiving:
    """One task: `await run()` until `stop()`. Survives conflicts, errors and dead connections; says so in the row.

    A subclass says what it asks Telegram again and again while the lease is its own (`_ask`), for how many seconds at
    most that may take (`patience`), and what follows from the answer (`_take`).
    """

    def __init__(self, surface: TelegramSurface, owner: str) -> None:
        self.surface = surface
        self.place = Place(surface.alias, surface.account, owner)
        #: monotonic time of the last call that Telegram answered, if only by an error; None before the first
        self.completed_at: float | None = None
        self.alive_at = time.monotonic()  # the loop itself goes on, whatever it met
        self.holds = False  # the lease is ours: this process is the one that shows how answers are written
        self._stopping = asyncio.Event()
        self._bot: Bot | None = None
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
                    logger.warning("%s: receiving waits for the database: %r", self.surface.alias, error)
                    await self._pause(1)
        finally:
            await self._rebuild()
            with contextlib.suppress(DatabaseError, InterfaceError):
                await db.run(self.place.release)

    @property
    def patience(self) -> float:
        return 30.0

    async def _ask(self, bot: Bot) -> Any:
        """Raises what the library raises."""
        raise NotImplementedError

    async def _take(self, answer: Any) -> None:
        raise NotImplementedError

    def _begin(self) -> None:
        """The lease has just become ours."""
        self.completed_at, self._state, self.holds = None, "", True

    async def _hold(self) -> None:
        """Poll while the lease is ours."""
        lost = asyncio.Event()
        self._begin()
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
                    logger.warning("%s: another process receives for this bot now.", self.surface.alias)
                    lost.set()
                    return

    async def _step(self) -> None:
        """Ask once, and sort what went wrong."""
        from telegram.error import Conflict, EndPointNotFound, InvalidToken, RetryAfter, TelegramError

        try:
            async with asyncio.timeout(self.patience):
                answer = await self._ask(await self._introduced())
        except Conflict as error:
            self._answered()
            hint = " (run_telegram_bot --delete-webhook does.)" if "webhook" in str(error) else ""
            await self._trouble(State.CONFLICT, f"{error}{hint}", longest=15)
        except (InvalidToken, EndPointNotFound) as error:
            self._answered()
            await self._trouble(State.UNAUTHORISED, str(error), longest=60)
        except RetryAfter as error:
            self._answered()
            await self._trouble(State.BACKING_OFF, str(error), exactly=sending.asked_to_wait(error))
        except TimeoutError:
            await self._trouble(State.BACKING_OFF, "No answer from Telegram, not even an error.", rebuild=True)
        except TelegramError as error:
            if sending.was_answered(error):
                self._answered()
            await self._trouble(State.BACKING_OFF, str(error), rebuild=True)
        else:
            await self._take(answer)

    async def _introduced(self) -> Bot:
        """The client; at first it asks who the bot is."""
        if self._bot is None:
            self._bot = client.make_bot(self.surface.token, self.surface.api_url, connections=2)
        if not self.place.username:
            me = await self._bot.get_me()
            self.place.username = me.username or ""
            self.surface.learned(self.place.username)
        return self._bot

    def _answered(self) -> None:
        self.completed_at = time.monotonic()

    def _well(self, words: str) -> None:
        """It works: said once, until there is trouble."""
        if self._state != State.OK:
            logger.info("%s: %s @%s.", self.surface.alias, words, self.place.username)
        self._state, self._failures = State.OK, 0
        self._answered()

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
            logger.info("%s: another process receives for this bot; waiting for its lease.", self.surface.alias)
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
