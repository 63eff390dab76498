"""All screens show the same: many short schedules from seeds. `SCHEDULES=10000 make soak` plays more."""

import os
import time
from collections import Counter
from typing import Any

import pytest
from django.db import connection

from crossmemory.events import TYPES
from tests.convergence.schedule import play
from tests.convergence.steps import Step, draw, kind_of, shortened
from tests.support.stage import Stage

pytestmark = pytest.mark.django_db

ENOUGH = 400  # schedules in which everything happens
SCHEDULES = int(os.environ.get("SCHEDULES", "1000"))

#: what must have happened before the schedules prove anything
HAPPENS = [
    *(f"event {kind}" for kind in TYPES),
    *(f"replay: {mode}" for mode in ("full", "resume", "current")),
    *(f"a run {how} while a steer waits" for how in ("completes", "fails", "is stopped", "is taken over")),
    *(f"refused: {code}" for code in ("conflict", "already_decided", "hash")),
    *(f"decided: {decision}" for decision in ("approved", "denied", "expired", "cancelled")),
    *(f"replay with an open {kind}" for kind in ("approval", "steer")),
    "attached with a cursor",
    "attached without a cursor",
    "cut in a replay",
    "cut while live",
    "rebuilt while live",
    "replay begun again",
    "replay in batches",
    "replay with a gap",
    "replay with text so far",
    "event too large for a frame",
    "streamed text",
    "asked for a sign",
    "pinged",
    "send repeated",
    "decision taken",
    "restored",
    "the database was silent",
]


def test_every_screen_shows_the_same(stage: Stage, user: Any, settings: Any) -> None:
    # Each database plays others (and so does each Python: SEED).
    first = int(os.environ.get("SEED") or (0 if connection.vendor == "sqlite" else 1_000_000))
    settings.CROSSMEMORY = {**settings.CROSSMEMORY}
    began, events, frames, devices, differences = time.monotonic(), 0, 0, 0, []
    seen: Counter[str] = Counter()
    kinds: dict[str, tuple[int, list[Step]]] = {}
    for seed in range(first, first + SCHEDULES):
        steps = draw(seed)
        try:
            result = play(steps, stage, user, check=seed % 10 == 0)
        except Exception as error:
            differences.append((seed, error))
            kinds.setdefault(kind_of(error), (seed, steps))
            continue
        events += result.events
        frames += result.frames
        devices += len(result.devices)
        seen += result.seen
        if (done := seed - first + 1) % 1_000 == 0 and done < SCHEDULES:
            print(f"\n{done:,} schedules, {len(differences)} differences", end="", flush=True)
    print(
        f"\n{SCHEDULES} schedules from seed {first}: {events} events, {frames} frames, {devices} devices, "
        f"{len(differences)} differences, {time.monotonic() - began:.1f} s"
    )
    print("\n".join(f"{times:9,}  {what}" for what, times in sorted(seen.items())))
    if differences:
        shown = [f"seed {seed}: {shorten(kind, steps, stage, user)}" for kind, (seed, steps) in kinds.items()]
        raise AssertionError("\n".join(shown)) from differences[0][1]
    if SCHEDULES >= ENOUGH:
        assert not [what for what in HAPPENS if not seen[what]], "the schedules left something out"


def shorten(kind: str, steps: list[Step], stage: Stage, user: Any) -> str:
    """The shortest schedule with a failure of this kind, and the failure."""
    last: list[BaseException] = []

    def fails(fewer: list[Step]) -> bool:
        try:
            play(fewer, stage, user, check=False)
        except Exception as error:
            last.append(error)
            return kind_of(error) == kind
        return False

    short = shortened(steps, fails)
    return f"{short}\n{last[-1]!r}" if fails(short) else f"{steps}\n(only where every frame is checked)"
