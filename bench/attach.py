"""Attaching to a log of 10,000 events ÷ a plain socket that sends the same frames from memory."""

import asyncio
from collections.abc import Callable
from statistics import median
from uuid import UUID

from bench.client import ATTACH, PLAIN, Received, attach
from bench.people import Recorded, analyze, person, recorded, signed_in
from bench.rounds import Times, ratio, repeated, take_turns
from bench.server import serving
from bench.table import Row, ratio_row, say
from crossmemory.attach import reader

EVENTS = 10_000

_CASES = (
    ("uvicorn", True, "uvicorn, compressed (as browsers ask)"),
    ("uvicorn", False, "uvicorn, not compressed"),
    ("daphne", False, "daphne (never compresses)"),
)


def measure(quick: bool) -> list[Row]:
    events, rounds = (2_000, 5) if quick else (EVENTS, 25)
    user = person("attach")
    log = recorded(user, events)
    analyze()
    session = signed_in(user)
    size = f"{events:,} events ({log.bytes / 2**20:.1f} MiB)"
    rows = []
    for server, deflate, name in _CASES:
        say(f"attach: {rounds} rounds, {name}")
        times = _times(server, log, session, rounds, deflate)
        rows.append(
            ratio_row(
                f"attach to {size}, {name}",
                "plain socket, same frames from memory ÷ attach until the last batch",
                ratio(times, "plain", "ours"),
                ("≥", 0.5),
            )
        )
        if (server, deflate) == ("uvicorn", False):
            rows.append(
                ratio_row(
                    f"reading {size} alone, no socket",
                    "the pages of an attach through Django's cursor ÷ plain socket",
                    ratio(times, "read", "plain"),
                )
            )
    return rows


def _times(server: str, log: Recorded, session: str, rounds: int, deflate: bool) -> Times:
    uid: UUID = log.conversation.uid
    seen: dict[str, Received] = {}
    with serving(server) as port:

        def over(name: str, path: str) -> Callable[[], float]:
            def once() -> float:
                seen[name] = asyncio.run(attach(port, f"{path}{uid}/", session, deflate=deflate))
                return seen[name].seconds

            return once

        variants = {
            "ours": over("ours", ATTACH),
            "plain": over("plain", PLAIN),
            "read": repeated(lambda: _read(log), 1),
        }
        take_turns(variants, 2)
        times = take_turns(variants, rounds)
    if (seen["ours"].frames, seen["ours"].bytes) != (seen["plain"].frames, seen["plain"].bytes):
        raise AssertionError(f"The two did not send the same: {seen}")
    milliseconds = {name: round(median(times[name]) * 1000) for name in times}
    say(f"attach: {seen['ours'].frames} frames; ms: {milliseconds}")
    return times


def _read(log: Recorded) -> None:
    """The queries of an attach for its events, and nothing else."""
    after, head, mean = 0, log.conversation.head, max(1, log.bytes // log.conversation.kept_events)
    while after < head:
        after = reader.page(log.conversation.pk, after, head, mean)[-1][0]
