"""Works through the inbox of one surface: several people at the same time, each person in order."""

import asyncio
import contextlib
import logging
import time
import traceback
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError
from django.utils import timezone

from crossmemory import db, inbox
from crossmemory.intake import albums, edits, files
from crossmemory.intake.inbound import Prepared, handle
from crossmemory.intake.schedule import Schedule, Waiting
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import surfaces

logger = logging.getLogger(__name__)

_AT_ONCE = 3  # rows that are handled at the same time
_FETCHING_AT_ONCE = 500  # messages whose files are on their way, each of another person: they take no handling away
_LOOK_SECONDS = 1.0  # how often to look without being woken
_LISTED = 10_000  # rows that are known to wait, at most


@dataclass(slots=True)
class _Wait:
    """The rest of an album may be on its way."""

    seconds: float


class InboxWorker:
    """One task: `await run()` until `stop()`, which lets what is under way finish."""

    def __init__(self, surface: str, account: str) -> None:
        self.surface, self.account = surface, account
        self._woken = asyncio.Event()
        self._stopping = False
        self._schedule = Schedule(time.monotonic)
        self._outdated = True  # what waits has to be looked up
        self._looked_at = 0.0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._senders: dict[int, str] = {}
        self._ended: set[int] = set()  # while what waits is looked up
        self._fetching: set[int] = set()
        self._telling: set[asyncio.Task[None]] = set()  # that a press has arrived: nothing waits for it
        self._files = files.Fetcher()
        self._since: datetime = timezone.now()

    def wake(self) -> None:
        """Something was stored. From the loop's own thread."""
        self._outdated = True
        self._woken.set()

    def stop(self) -> None:
        self._stopping = True
        self.wake()

    async def run(self) -> None:
        """Handle what waits, until stopped; then what is still waiting and can be handled at once."""
        self._since = timezone.now()
        while True:
            self._woken.clear()
            try:
                found = await self._begin()
            except (DatabaseError, InterfaceError) as error:
                logger.warning("%s: the inbox waits for the database: %r", self.surface, error)
                self._outdated, found = True, False
                await asyncio.sleep(0.1)
            if self._stopping and not found and not self._tasks:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LOOK_SECONDS):
                    await self._woken.wait()

    async def _begin(self) -> bool:
        """Begin with what is next; whether there was something."""
        free = _AT_ONCE - (len(self._tasks) - len(self._fetching))
        if free <= 0 or len(self._fetching) >= _FETCHING_AT_ONCE:
            return True
        if self._outdated or time.monotonic() - self._looked_at > _LOOK_SECONDS:
            await self._look()
        keys = self._schedule.take(free, set(self._senders.values()))
        for row in await db.run(inbox.rows, keys) if keys else ():
            self._senders[row.pk] = row.sender or f"{row.pk}"
            self._tasks[row.pk] = asyncio.create_task(self._handle(row))
        if keys and len(self._tasks) - len(self._fetching) < _AT_ONCE:
            self._woken.set()  # some were handled elsewhere: there is room for others
        return bool(keys)

    async def _look(self) -> None:
        self._outdated, self._looked_at = False, time.monotonic()
        self._ended.clear()
        found = await db.run(inbox.waiting, self.surface, self.account, _LISTED)
        self._schedule.load([Waiting(*each) for each in found], self._ended | set(self._tasks))

    async def _handle(self, row: InboundUpdate) -> None:
        finished = False
        try:
            prepared = await self._prepared(row)
            if isinstance(prepared, _Wait):
                asyncio.get_running_loop().call_later(prepared.seconds + 0.01, self.wake)
            else:
                finished = await db.run(handle_or_retry, row, prepared)
        except Exception as error:  # the database is away: the row stays as it was
            logger.warning("%s update %s waits: %r", self.surface, row.external_id, error)
            await asyncio.sleep(_LOOK_SECONDS)
            self._outdated = True
        finally:
            if not finished:
                self._schedule.drop(row.sender)
            else:
                self._ended.add(row.pk)
            del self._tasks[row.pk], self._senders[row.pk]
            self._woken.set()

    async def _prepared(self, row: InboundUpdate) -> Prepared | _Wait:
        """What cannot be prepared is carried out as it is: whatever is wrong with it then counts against it."""
        try:
            return await self._prepare(row)
        except (DatabaseError, InterfaceError):
            raise
        except Exception:
            logger.exception("%s update %s could not be prepared.", self.surface, row.external_id)
            return Prepared()

    async def _prepare(self, row: InboundUpdate) -> Prepared | _Wait:
        """What takes time, or needs more than one row: the rest of an album, and files."""
        surface = surfaces[row.surface]
        inbound = surface.parse(bytes(row.raw))
        if inbound.press:
            told = asyncio.create_task(surface.acknowledge(inbound))
            self._telling.add(told)
            told.add_done_callback(self._telling.discard)
        if inbound.kind not in ("text", "edit") or not inbound.parts:
            return Prepared()
        if inbound.kind == "edit" and not await db.run(edits.brings_files, row, inbound):
            return Prepared()
        rows = [row]
        if inbound.kind == "text" and inbound.album:
            rows += await db.run(albums.rest_of, row, inbound.album)
            if seconds := albums.to_wait(rows, self._since):
                await db.run(inbox.wait, row, seconds)
                return _Wait(seconds)
        with_files = [(each, said) for each in rows if (said := surface.parse(bytes(each.raw))).files]
        place = await files.awhere(row, inbound) if with_files else None
        if place is None:
            return Prepared(rows[1:])
        link, conversation = place
        parts: dict[int, list[Any]] = {}
        troubles: list[str] = []
        self._fetching.add(row.pk)
        self._woken.set()  # another row may take this one's place
        try:
            for each, fetched in zip(
                with_files,
                await asyncio.gather(*(self._files.fetch(surface, conversation, said) for _each, said in with_files)),
                strict=True,
            ):
                parts[each[0].pk], trouble = fetched
                troubles += trouble
        finally:
            self._fetching.discard(row.pk)
        return Prepared(rows[1:], parts, [files.notice(link, troubles)] if troubles else [])


def handle_or_retry(row: InboundUpdate, prepared: Prepared | None = None) -> bool:
    """Handle a row; note what went wrong, so that it is tried again a few times and then parked. Whether it is handled.

    That the database is away or busy is not the row's fault, and raised.
    """
    try:
        handle(row, prepared)
    except (OperationalError, InterfaceError):
        raise
    except Exception as error:
        logger.warning("%s update %s failed: %r", row.surface, row.external_id, error)
        return not inbox.retry(row, "".join(traceback.format_exception(error)))
    return True
