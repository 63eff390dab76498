"""Works through the outbox of one surface. One unreachable or slow chat delays nobody else."""

import asyncio
import contextlib
import logging
import os
import socket
import uuid

from django.db import DatabaseError, InterfaceError
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import db, inbox, linking, outbox
from crossmemory.exceptions import CrossmemoryError, Fenced
from crossmemory.models import Delivery, SurfaceLink
from crossmemory.runs import cards
from crossmemory.surfaces import Destination, Outcome, Piece, Surface, surfaces

logger = logging.getLogger(__name__)

_AT_ONCE = 8  # pieces on their way at the same time, each for another chat
_LOOK_SECONDS = 1.0  # how often to look without being woken: for what other processes wrote, and what is due again
_NOTE_SECONDS = 20.0  # how long an outcome is kept in hand while the database is away; below the lease


class Sender:
    """One task: `await run()` until `stop()`. Several senders, also in other processes, share the work."""

    def __init__(self, surface: str) -> None:
        self.alias = surface
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"[:100]
        self._woken = asyncio.Event()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def surface(self) -> Surface:
        return surfaces[self.alias]

    def stop(self) -> None:
        """Take nothing more; what is on its way is finished."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()

        def bell() -> None:
            loop.call_soon_threadsafe(self._woken.set)

        outbox.listen(bell)
        troubled = False
        try:
            while not self._stopping:
                self._woken.clear()
                try:
                    await self._begin()
                    troubled = False
                except (DatabaseError, InterfaceError) as error:
                    if not troubled:
                        logger.warning("%s: the outbox waits for the database: %r", self.alias, error)
                    troubled = True
                except Exception:
                    logger.exception("%s: working through the outbox failed.", self.alias)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_SECONDS):
                        await self._woken.wait()
        finally:
            outbox.unlisten(bell)
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def flush(self, seconds: float) -> None:
        """Wait until nothing is due, at most so long."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while await db.run(outbox.waiting, self.alias, self.surface.account):
                    self._woken.set()
                    await asyncio.sleep(0.1)

    async def _begin(self) -> None:
        account = self.surface.account
        await db.run(cards.close, self.alias, account)
        if self.surface.has_buttons:
            await db.run(cards.show_elsewhere, self.alias, account)
        for row in await db.run(outbox.claim_lost, self.alias, account, self.worker):
            await db.run(outbox.lost, row)
        free = _AT_ONCE - len(self._tasks)
        if free <= 0:
            return
        for row in await db.run(outbox.claim, self.alias, account, self.worker, free):
            task = asyncio.create_task(self._send(row))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._woken.set()  # the next piece of that chat may go

    async def _send(self, row: Delivery) -> None:
        destination = Destination(row.surface, row.account, row.chat, row.topic, row.reply_to if not row.piece else "")
        try:
            outcome, piece = await self._ready(row, destination)
        except (Fenced, DatabaseError, InterfaceError) as error:  # nothing was sent: its lease runs out
            logger.warning("%s: piece %s is left to others: %r", self.alias, row.uid, error)
            return
        except Exception as error:
            logger.exception("%s: preparing piece %s raised.", self.alias, row.uid)
            outcome, piece = Outcome("retry", error=repr(error)), None
        if piece is not None:
            outcome = await self._deliver(row, destination, piece)
        await self._note(row, outcome)

    async def _ready(self, row: Delivery, destination: Destination) -> tuple[Outcome, Piece | None]:
        """The piece, marked as handed over when its turn has come; without one, what becomes of the row."""
        outcome, piece = await db.run(prepare, row)
        if piece is None:
            return outcome, None
        if must_wait := await self.surface.turn(destination):
            return must_wait, None
        await db.run(outbox.handed, row)
        return outcome, piece

    async def _deliver(self, row: Delivery, destination: Destination, piece: Piece) -> Outcome:
        try:
            return await self.surface.deliver(destination, piece)
        except CrossmemoryError as error:
            return Outcome("failed", error=str(error))
        except Exception as error:  # whatever a surface raises: it may have been sent
            logger.exception("%s: delivering piece %s raised.", self.alias, row.uid)
            return Outcome("unknown", error=repr(error))

    async def _note(self, row: Delivery, outcome: Outcome) -> None:
        """Record what became of it, again and again while the database is away."""
        with contextlib.suppress(TimeoutError, Fenced):
            async with asyncio.timeout(_NOTE_SECONDS):
                while True:
                    try:
                        await db.run(settle, row, outcome)
                    except (DatabaseError, InterfaceError) as error:
                        logger.warning("%s: an outcome waits for the database: %r", self.alias, error)
                        await asyncio.sleep(0.5)
                    else:
                        return


def prepare(row: Delivery) -> tuple[Outcome, Piece | None]:
    """What is handed to the platform; without a piece, what becomes of the row. Nothing goes to who shut us out."""
    if shut_out := outbox.unreachable(row):
        return Outcome("blocked", error=shut_out), None
    return Outcome("sent"), piece_of(row)


def piece_of(row: Delivery) -> Piece | None:
    """What goes to the platform; a repeated answer says that it may be one. None: another text for what never came."""
    payload = {name: value for name, value in row.payload.items() if name != "text"}
    if "edits" in payload:
        earlier = Delivery.objects.using(db.write_alias(Delivery)).filter(uid=payload["edits"])
        payload["edits"] = earlier.values_list("external_id", flat=True).first()
        if not payload["edits"]:
            return None
    elif row.repeated:
        with translation.override(_language(row)):
            payload["label"] = _("(You may have received this already.)")
    return Piece(str(row.payload.get("text", "")), payload)


def settle(row: Delivery, outcome: Outcome) -> None:
    """Carry an outcome into the ledger. Raises Fenced when another worker decided meanwhile."""
    match outcome.fate:
        case "sent":
            outbox.sent(row, outcome.external_id, outcome.topic)
        case "retry":
            if outcome.chat and outcome.chat != row.chat:
                inbox.follow(row.surface, row.account, row.chat, outcome.chat)
            outbox.again(row, outcome.error, outcome.chat)
        case "rate_limited":
            outbox.limited(row, outcome.retry_after, outcome.error)
        case "unknown":
            outbox.unknown(row, outcome.error)
        case "blocked":
            outbox.blocked(row, outcome.error)
        case "failed":
            outbox.failed(row, outcome.error)


def _language(row: Delivery) -> str:
    links = SurfaceLink.of_chat(row.surface, row.account, row.chat)
    return linking.language_of(links.values_list("language", flat=True).first() or "")
