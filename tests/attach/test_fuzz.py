"""Frames that nobody should send: made from the protocol's own, then spoilt. `FRAMES=100000 make fuzz` sends more.

The real consumer answers in process, without a socket; a probe after every few frames shows that it still does.
"""

import json
import logging
import os
import random
import resource
import time
import tracemalloc
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from crossmemory import intake, log, turns
from crossmemory.events import Actor
from crossmemory.models import Attachment, Conversation, Message, Owner
from tests.support.frames import checked
from tests.support.stage import Stage, played, set_stage, settled
from tests.support.wire import Wire

pytestmark = pytest.mark.django_db

FRAMES = int(os.environ.get("FRAMES", "4000"))
SEED = int(os.environ.get("SEED", "0"))
GROWTH = 3 * 2**20  # bytes that Python may hold more at the end than after the first quarter
RESIDENT_GROWTH = 48 * 2**20  # bytes that the process may: what was freed is not given back in pieces

ODD: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    1.5,
    2**53,
    2**64,
    10**400,
    "",
    " ",
    "0",
    "\x00",
    "\ud83d",
    "🙂" * 50,
    "‮\u2028\ufeff",
    "%s' OR 1=1 --",
    "x" * 129,
    "x" * 70_000,
    "../../x",
    [],
    [[]],
    {},
    {"$ref": "x"},
    {"type": "ping"},
]
RAW: list[str | bytes] = [
    "",
    " ",
    "{",
    "null",
    "[]",
    '"x"',
    "NaN",
    '{"type":NaN}',
    '{"type":"ping","n":1e999}',
    '{"type":"ping","n":-Infinity}',
    '{"type":"read","seq":1e3}',
    '{"type":"read","seq":' + "9" * 5_000 + "}",
    '{"type":"message.send","client_id":"\\ud83d","text":"half"}',
    '{"type":"message.send","client_id":"\\u0000","text":"nul \\u0000"}',
    '{"type":"approval.decide","tool_call":"\\ud83d","decision":"approved","args_hash":"\\ud83d"}',
    '{"type":"partial.get","message":"\\ud83d","from":0}',
    '{"type":"ping","type":"pong","n":1}',
    "[" * 20_000,
    '{"a":' * 20_000,
    '{"type":"__init__"}',
    '{"type":"_HANDLERS"}',
    "x" * 600_000,
    b"",
    b"\xff\xfe",
    b'{"type":"ping"}',
]

QUERIES = [
    "",
    "cursor=",
    "cursor=:",
    "cursor=%00:1",
    "cursor=e:-1",
    "cursor=e:1&cursor=e:2",
    "cursor=" + "9" * 5_000 + ":" + "9" * 5_000,
    "cursor={epoch}:9007199254740993",
    "cursor={epoch}:\u0663",
    "max_frame=0",
    "max_frame=-1",
    "max_frame=1e9",
    "max_frame=\u00b2",
    "max_frame=" + "9" * 5_000,
    "%%%&&&===",
]


class Spoiler:
    """Draws frames: some as they should be, most spoilt in one or more ways."""

    def __init__(self, seed: int, known: list[str]) -> None:
        self.rng = random.Random(seed)
        self.known = known  # ids that mean something here, or to somebody else

    def frame(self) -> str | bytes:
        if self.rng.random() < 0.1:
            return self.rng.choice(RAW)
        frame = self._good()
        for _ in range(self.rng.choice((0, 1, 1, 2, 4))):
            self._spoil(frame)
        text = json.dumps(frame, ensure_ascii=self.rng.random() < 0.8)
        if self.rng.random() < 0.05:
            text = text[: self.rng.randrange(len(text))]
        return text

    def _good(self) -> dict[str, Any]:
        rng, some_id = self.rng, self.rng.choice(self.known)
        return rng.choice(
            (
                lambda: {"type": "message.send", "client_id": f"c{rng.randrange(50)}", "text": f"m{rng.randrange(3)}"},
                lambda: {
                    "type": "message.send",
                    "client_id": f"f{rng.randrange(50)}",
                    "text": rng.choice(("", "look")),
                    "parts": [{"attachment": rng.choice(self.known)} for _ in range(rng.choice((1, 1, 2, 30)))],
                },
                lambda: {"type": "run.stop"},
                lambda: {"type": "read", "seq": rng.randrange(2_000)},
                lambda: {"type": "partial.get", "message": some_id, "from": rng.randrange(40)},
                lambda: {"type": "approval.decide", "tool_call": some_id, "decision": "approved", "args_hash": "x"},
                lambda: {"type": "ping", "n": rng.randrange(9)},
                lambda: {"type": "pong", "n": rng.randrange(9)},
            )
        )()

    def _spoil(self, frame: dict[str, Any]) -> None:
        rng, names = self.rng, [*frame, "x", "parts", "n"]
        name = rng.choice(names if rng.random() < 0.1 else [each for each in names if each != "type"])
        rng.choice(
            (
                lambda: frame.pop(name, None),
                lambda: frame.update({name: rng.choice(ODD)}),
                lambda: frame.update({name: [frame.get(name)]}),
                lambda: frame.update({name: str(frame.get(name))}),
                lambda: frame.update({rng.choice(("", "type ", "Type", "__class__")): rng.choice(ODD)}),
                lambda: frame.update({name: {"a": [rng.choice(ODD)] * 3}}),
            )
        )()


def nothing_goes_out(run: Any, message: Any, text: str) -> None:
    """Stands for the outbox."""


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return set_stage(monkeypatch)


@pytest.fixture
def memory() -> Iterator[Callable[[], int]]:
    """What Python holds, in bytes."""
    tracemalloc.start()
    yield lambda: tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()


def resident() -> int:
    """What the process holds, in bytes (Linux; 0 elsewhere)."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * resource.getpagesize() if statm.exists() else 0


def a_conversation_at_work(user: Any) -> tuple[Conversation, list[str]]:
    """A conversation with an answer being written, and one that waited for a decision; and the ids in it."""
    person = Actor("user", str(user.pk))
    conversation = log.create(Owner.of(user), "web", "Trip")
    for asks in (True, False):
        stored = intake.say(conversation, "hello", author=person)
        run = turns.claim(stored.run_id or 0, "w", nothing_goes_out)
        assert run is not None
        if asks:
            [call] = turns.await_approval(
                run, None, "", [turns.Request("bell")], None, saw={}, outgoing=nothing_goes_out
            )
            turns.request_stop(conversation, person)
        else:
            message = turns.begin_answer(run, {}, "written 🙂 so far")
    files = [
        Attachment.objects.create(
            conversation=conversation, type="document", file="none", mime="text/plain", bytes=1, sha256="0" * 64
        )
        for _ in range(3)
    ]
    return conversation, [str(each.uid) for each in (call, message, stored, *files)]


def test_no_frame_harms_the_server(
    stage: Stage,
    user: Any,
    other: Any,
    settings: Any,
    memory: Callable[[], int],
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "FRAMES_PER_SECOND": 1e9}
    caplog.set_level(logging.WARNING)
    stage.user = user
    theirs, foreign = a_conversation_at_work(other)
    before = Message.objects.filter(conversation=theirs).count()
    told: Counter[str] = Counter()
    began, sent, early, wires, slowest = time.monotonic(), 0, (0, 0), 0, 0.0
    while sent < FRAMES:
        wires += 1
        with transaction.atomic():
            conversation, own = a_conversation_at_work(user)
            known = [*own, *foreign, str(theirs.uid), str(uuid.UUID(int=7)), "none"]
            spoiler = Spoiler(SEED + wires, known)
            frames, seconds = played(harass(stage, conversation, spoiler, told))
            sent, slowest = sent + frames, max(slowest, seconds)
            conversation.refresh_from_db()
            assert conversation.read_seq <= conversation.head
            taken = Attachment.objects.filter(message__isnull=False)
            assert not taken.exclude(message__conversation=F("conversation")).exists()
            told["file taken"] += taken.count()
            transaction.set_rollback(True)
        if not early[0] and sent >= FRAMES / 4:
            early = memory(), resident()
    grown, resides = memory() - early[0], resident() - early[1]
    print(
        f"\n{sent} frames on {wires} connections, {time.monotonic() - began:.1f} s, slowest {slowest * 1000:.0f} ms, "
        f"memory since the first quarter: Python {grown / 1024:+,.0f} KiB, process {resides / 1024:+,.0f} KiB\n"
        f"{dict(told.most_common())}"
    )
    assert [record.getMessage() for record in caplog.records] == []
    assert grown < GROWTH
    assert resides < RESIDENT_GROWTH
    assert Message.objects.filter(conversation=theirs).count() == before
    assert {"error malformed", "error invalid", "error binary", "error too_large", "ack", "nack"} <= set(told)
    assert told["file taken"]
    assert not {"error unavailable", "closed 1011", "closed 4009"} & set(told)


async def harass(stage: Stage, conversation: Conversation, spoiler: Spoiler, told: Counter[str]) -> tuple[int, float]:
    """Send frames until the server has had enough, or 300; how many, and the longest time for one (seconds)."""
    closed: list[int] = []
    pongs: list[Any] = []

    def deliver(text: str) -> None:
        assert len(text.encode()) <= 256 * 1024
        frame = checked(text)
        told[" ".join([frame["type"], *([frame["code"]] if frame["type"] == "error" else [])])] += 1
        if frame["type"] == "pong":
            pongs.append(frame.get("n"))

    query = spoiler.rng.choice(QUERIES).replace("{epoch}", conversation.epoch)
    wire = Wire(conversation, query, deliver, closed.append)
    await settled()
    slowest, sent = 0.0, 0
    while sent < 300 and not closed:
        began = time.monotonic()
        wire.send_raw(spoiler.frame())
        await settled()
        slowest, sent = max(slowest, time.monotonic() - began), sent + 1
        if sent % 5 == 0 and not closed:
            for bell in list(stage.bells):
                stage.ring(bell)
            wire.send({"type": "ping", "n": 1_000_000 + sent})
            await settled()
            assert closed or pongs[-1:] == [1_000_000 + sent], "it answers no more"
    told.update(f"closed {code}" for code in closed)
    assert closed in ([], [4510])
    await wire.ended()
    return sent, slowest
