"""Queries, rows and bytes between the app and its database: per message, per turn and per attach."""

import asyncio
import json
from typing import Any

from channels.testing import WebsocketCommunicator
from django.conf import settings
from django.test import override_settings

from bench.attach import EVENTS
from bench.client import ATTACH
from bench.meter import Count, Meter
from bench.people import analyze, history, person, recorded, signed_in
from bench.table import Counted, say
from crossmemory import broadcast, db, intake, log
from crossmemory.asgi import with_crossmemory
from crossmemory.events import Actor
from crossmemory.models import Conversation, Owner
from crossmemory.runs import Runner, engine

_QUIET = 3600.0  # seconds: nothing looks into the database by the clock while something is counted


class Manual(Runner):
    """Carries out nothing by itself."""

    def wake(self, after: float = 0) -> None:
        pass


def measure(quick: bool) -> list[Counted]:
    site = {
        **settings.CROSSMEMORY,
        "AGENTS": {"default": {"BACKEND": "bench.agents.ReaderAgent"}},
        "RUNNER": {"BACKEND": "bench.counts.Manual"},
        "POLL_SECONDS": _QUIET,
        "PING_SECONDS": _QUIET,
    }
    with override_settings(CROSSMEMORY=site):
        try:
            return asyncio.run(_measure(2_000 if quick else EVENTS))
        finally:
            broadcast.stop()
            db.close_threads()


async def _measure(events: int) -> list[Counted]:
    say("counts: messages and turns")
    meter = await db.run(Meter)
    user = await db.run(person, "counts")
    await db.run(history, user, 200, "ordinary")  # said on the other surface
    conversation = await db.run(log.create, Owner.of(user), "web", "Bench")
    for _ in range(3):
        await db.run(_say, conversation, "1")
        await engine.run_waiting("bench")
    rows = []
    with meter.counting() as count:
        await db.run(_say, conversation, "1")
    rows.append(_row("a person's message", "stored with its queued run", count))
    await engine.run_waiting("bench")
    for pieces in (1, 11):
        with meter.counting() as count:
            await db.run(_say, conversation, str(pieces))
            await engine.run_waiting("bench")
        what = "message → answer completed, " + ("in one piece" if pieces == 1 else f"streamed in {pieces} pieces")
        rows.append(_row("a whole turn", what, count))
    say(f"counts: attaching to {events:,} events")
    recorded_ = await db.run(recorded, user, events)
    await db.run(analyze)
    conversation = recorded_.conversation
    session = await db.run(signed_in, user)
    await _attach(conversation, session, "")
    for what, cursor in (
        (f"full, {events:,} events, {recorded_.bytes / 2**20:.1f} MiB", ""),
        ("resume, 10 missed events", f"?cursor={conversation.epoch}:{events - 10}"),
        ("current, nothing missed", f"?cursor={conversation.epoch}:{events}"),
    ):
        with meter.counting() as count:
            await _attach(conversation, session, cursor)
        pages = sum("seq <=" in statement for statement in count.statements)
        rows.append(_row("an attach", f"{what} ({pages} pages)" if not cursor else what, count))
    return rows


def _say(conversation: Conversation, text: str) -> None:
    intake.say(conversation, text, author=Actor("user", str(conversation.user_id)))


async def _attach(conversation: Conversation, session: str, query: str) -> None:
    """Attach in this process, until the last batch and the look for news after it."""
    headers = [(b"origin", b"http://127.0.0.1"), (b"host", b"127.0.0.1"), (b"cookie", f"sessionid={session}".encode())]
    path = f"{ATTACH}{conversation.uid}/{query}"
    client = WebsocketCommunicator(with_crossmemory(_no_site), path, headers, ["crossmemory.v1"])
    connected, _ = await client.connect(10)
    assert connected
    while True:
        frame = json.loads(await client.receive_from(10))
        if frame["type"] == "ping":
            await client.send_json_to({"type": "pong", "n": frame["n"]})
        elif frame["last"]:
            break
    await asyncio.sleep(0.2)
    await client.disconnect()


async def _no_site(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError(scope["path"])


def _row(what: str, how: str, count: Count) -> Counted:
    return Counted(what, how, count.queries, count.read, count.written, _size(count.sent), _size(count.received))


def _size(size: int) -> str:
    return f"{size:,} B" if size < 10_000 else f"{size / 1024:,.0f} KiB"
