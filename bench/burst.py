"""A burst of incoming updates: how fast it is worked through, and how long people wait who are no part of it."""

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction
from django.test import override_settings

from bench.people import clear, person
from bench.rounds import Ratio, spread
from bench.table import Row, ratio_row, say
from crossmemory import broadcast, db, inbox, linking
from crossmemory.inbox import Incoming
from crossmemory.intake.worker import InboxWorker
from crossmemory.models import Conversation, Event, InboundUpdate, Message, Run, SurfaceLink
from crossmemory.models.guard import log_writes

ACCOUNT = "1"
UPDATES, PEOPLE, QUIET = 1_000, 200, 20
_ROUNDS = 3

_numbers = itertools.count(1)


def measure(quick: bool) -> list[Row]:
    options = {"label": "Telegram", "token": f"{ACCOUNT}:a-token"}
    surfaces = {
        **settings.CROSSMEMORY["SURFACES"],
        "telegram": {"BACKEND": "crossmemory.surfaces.telegram.TelegramSurface", "OPTIONS": options},
    }
    site = {**settings.CROSSMEMORY, "SURFACES": surfaces, "RUNNER": {"BACKEND": "bench.counts.Manual"}}
    with override_settings(CROSSMEMORY=site):
        try:
            return asyncio.run(_measure(100 if quick else UPDATES, 1 if quick else _ROUNDS))
        finally:
            broadcast.stop()
            db.close_threads()


async def _measure(updates: int, rounds: int) -> list[Row]:
    speeds, waits = [], []
    for number in range(rounds):
        say(f"burst: round {number + 1} of {rounds}")
        await db.run(clear)
        await db.run(_connected, PEOPLE + QUIET)
        batch = _batch(updates)
        plain = await db.run(_stored_by_the_orm, _batch(updates))
        await db.run(inbox.store_all, "telegram", ACCOUNT, batch)
        start = time.perf_counter()
        async with _Working():
            await _idle()
        speeds.append(plain / (time.perf_counter() - start))
        async with _Working() as worker:
            alone = await _waits(worker)
            await db.run(inbox.store_all, "telegram", ACCOUNT, _batch(updates))
            worker.wake()
            among = await _waits(worker)
            await _idle()
        say(f"burst: {updates / plain * speeds[-1]:.0f} a second; waits {alone:.3f} s alone, {among:.3f} s in it")
        waits.append(among / alone)
    what = f"a burst of {updates:,} updates of {PEOPLE} people"
    found: list[tuple[str, str, Ratio, Any]] = [
        (f"{what}, throughput", "storing the same rows by the ORM ÷ update → queued run", spread(speeds), ("≥", 0.5)),
        (f"{what}, {QUIET} quiet people", "the slowest one's wait in the burst ÷ without it", spread(waits), ("≤", 2)),
    ]
    return [ratio_row(*row) for row in found]


def _connected(count: int) -> None:
    for number in range(count):
        user = person(f"burst{number}")
        link = SurfaceLink.objects.create(
            user=user, surface="telegram", account=ACCOUNT, external_id=str(number), chat=str(number), status="active"
        )
        linking.conversation_of(link)


def _update(sender: int) -> Incoming:
    number = next(_numbers)
    who = {"id": sender, "is_bot": False, "first_name": "Ana"}
    message = {"message_id": number, "date": 1767225637, "from": who, "chat": {"id": sender, "type": "private"}}
    body = {"update_id": number, "message": {**message, "text": f"What did I tell you about number {number}?"}}
    return Incoming(str(number), "message", json.dumps(body).encode(), str(sender))


def _batch(count: int) -> Sequence[Incoming]:
    return [_update(number % PEOPLE) for number in range(count)]


def _stored_by_the_orm(batch: Sequence[Incoming]) -> float:
    """Seconds to store what a burst leaves behind, row by row, each update in a transaction."""
    conversations = list(Conversation.objects.filter(surface="telegram").order_by("pk")[:PEOPLE])
    start = time.perf_counter()
    with log_writes():
        for number, incoming in enumerate(batch):
            conversation, seq = conversations[number % PEOPLE], 1_000_000 + number
            with transaction.atomic():
                row = incoming.row("telegram", ACCOUNT)
                row.save()
                message = Message(
                    conversation=conversation, owner_id=conversation.user_id, seq=seq, turn=seq, role="user",
                    author_kind="user", author_id="1", text="What did I tell you about that?", client_id=f"orm{number}",
                )  # fmt: skip
                message.save()
                Event(conversation=conversation, seq=seq, type="message.completed", body="x" * 300, bytes=300).save()
                if number < PEOPLE:
                    Run(conversation=conversation, agent="default", trigger=seq, status="completed").save()
                    Event(conversation=conversation, seq=seq * 2, type="run.queued", body="x" * 150, bytes=150).save()
                row.status, row.conversation, row.message = InboundUpdate.Status.DONE, conversation, message
                row.save()
    return time.perf_counter() - start


class _Working:
    """The worker of the inbox, at work."""

    async def __aenter__(self) -> InboxWorker:
        self.worker = InboxWorker("telegram", ACCOUNT)
        self.job = asyncio.create_task(self.worker.run())
        return self.worker

    async def __aexit__(self, *_: object) -> None:
        self.worker.stop()
        await self.job


async def _idle() -> None:
    waiting = InboundUpdate.objects.filter(status=InboundUpdate.Status.RECEIVED)
    while await db.run(waiting.exists):  # noqa: ASYNC110
        await asyncio.sleep(0.02)


async def _waits(worker: InboxWorker) -> float:
    """Seconds that the slowest of the quiet people waits, one after the other, until their words are in the log."""
    slowest = 0.0
    for number in range(QUIET):
        incoming = _update(PEOPLE + number)
        start = time.perf_counter()
        await db.run(inbox.store_all, "telegram", ACCOUNT, [incoming])
        worker.wake()
        said = InboundUpdate.objects.filter(
            surface="telegram", account=ACCOUNT, external_id=incoming.external_id, message__isnull=False
        )
        while not await db.run(said.exists):  # noqa: ASYNC110
            await asyncio.sleep(0.002)
        slowest = max(slowest, time.perf_counter() - start)
    return slowest
