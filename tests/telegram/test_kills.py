"""The bot's process is killed at every step, again and again: `KILLS=100 make kills` prints what came of it."""

import os
import random
import re
import signal
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.db.models import Q

from crossmemory import db
from crossmemory.models import Delivery, InboundUpdate, Message, Run
from tests.sandbox.conftest import Doors
from tests.telegram.bot_process import BotProcess
from tests.telegram.conftest import ANA, settled
from tests.telegram.killing import STEPS

pytestmark = pytest.mark.processes

KILLS = int(os.environ.get("KILLS", len(STEPS)))
SEED = int(os.environ.get("SEED", "1"))
REPEATED = "received this already"
_QUESTION = re.compile(r"question \d+;")


def durable() -> bool:
    """A kill proves little where a commit may be lost."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute("SHOW fsync")
        return bool(cursor.fetchone() == ("on",))


def plan() -> list[str]:
    """Each step as often as every other, in another order every time."""
    chance = random.Random(SEED)
    steps: list[str] = []
    while len(steps) < KILLS:
        steps += chance.sample(STEPS, len(STEPS))
    return steps[:KILLS]


async def outcome(doors: Doors, asked: list[str]) -> dict[str, Any]:
    """What became of the questions, in the database and on the phone."""
    said = await db.run(list, Message.objects.filter(role="user").order_by("pk").values_list("text", flat=True))
    replies = Message.objects.filter(role="assistant").exclude(status="redacted")
    answered = Counter(q for text in await db.run(list, replies.values_list("text", flat=True)) for q in of(text))
    texts = await doors.texts(ANA)
    repeats = [text for text in texts if REPEATED in text]
    shown = Counter(q for text in texts if text not in repeats for q in of(text))
    # Killed twice with the same piece in flight: that one waits for staff, who see that it is maybe sent.
    maybe = await db.run(list, Delivery.objects.filter(status="unknown").values_list("payload__text", flat=True))
    seen = shown + Counter(q for text in (*repeats, *maybe) for q in of(text))
    open_rows = InboundUpdate.objects.filter(status__in=["received", "dead"])
    stuck = Delivery.objects.exclude(status__in=["sent", "unknown", "cancelled"])
    closed = await db.run(Run.objects.filter(status__in=["abandoned", "failed"]).count)
    return {
        "lost": [q for q in asked if q not in said or not (seen[q] and answered[q])],
        "doubled": [q for q in asked if said.count(q) > 1 or answered[q] > 1 or shown[q] > 1],
        "out of order": said != sorted(said, key=asked.index),
        "left": await db.run(open_rows.count) + await db.run(stuck.count),
        "unknown": await pieces(Q(repeated=True) | Q(status="unknown")),
        "closed": closed,
    }


async def pieces(which: Q) -> set[int]:
    return set(await db.run(list, Delivery.objects.filter(which).values_list("pk", flat=True)))


def of(text: str) -> list[str]:
    return _QUESTION.findall(text)


async def test_killed_at_every_step_it_loses_and_doubles_nothing(
    bot: BotProcess,
    doors: Doors,
    ana: Any,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert await db.run(durable)
    bot.env["DJANGO_SETTINGS_MODULE"] = "tests.telegram.kill_settings"
    steps = plan()
    asked: list[str] = []
    flying: set[int] = set()
    for number, step in enumerate(steps):
        bot.start(KILL_AT=step)
        asked.append(f"question {number};")
        await doors.say(asked[-1])
        assert await bot.ended(60) == -signal.SIGKILL, step
        in_flight = await pieces(Q(status="sending", handed_at__isnull=False))
        assert len(in_flight) <= 1  # of one chat
        flying |= in_flight
    bot.start()
    await settled(doors)
    found = await outcome(doors, asked)
    with capsys.disabled():
        print(f"\n{len(steps)} kills on {connection.vendor}, seed {SEED}")
        for step, count in sorted(Counter(steps).items(), key=lambda each: STEPS.index(each[0])):
            print(f"  {step:<14}{count:>5}")
        print(
            f"{len(asked)} questions: {len(found['lost'])} lost, {len(found['doubled'])} doubled turns, "
            f"{len(found['unknown'])} pieces of unknown fate, sent once more and labelled, of {len(flying)} in flight."
        )
    assert [found[name] for name in ("lost", "doubled", "left", "closed", "out of order")] == [[], [], 0, 0, False]
    assert found["unknown"] <= flying
