"""Loading the merged context ÷ the same SQL through Django's cursor, how both grow with the history, and building a
whole context ÷ the bare query for its messages."""

from collections.abc import Callable
from statistics import median
from typing import Any, get_args

from django.conf import settings as django_settings
from django.db import connection
from django.test import override_settings

from bench.people import Kind, analyze, history, person
from bench.rounds import ratio, repeated, take_turns
from bench.table import Row, ratio_row, say
from crossmemory import memory

_NAMES = {
    "ordinary": "ordinary user",
    "quiet": "quiet user, all older than the window",
    "unshared": "newest messages all kept out of memory",
}


def measure(quick: bool) -> list[Row]:
    sizes = [1_000, 10_000, 50_000] if quick else [1_000, 100_000, 1_000_000]
    rounds, batch = (9, 20) if quick else (30, 40)
    variants: dict[str, Callable[[], float]] = {}
    for kind in get_args(Kind):
        for count in sizes:
            say(f"context: making {count:,} messages, {_NAMES[kind]}")
            user = person(f"{kind}-{count}")
            history(user, count, kind)
            variants[f"{kind} {count}"], variants[f"{kind} {count} cursor"] = _pair(user, batch)
    analyze()
    say(f"context: {rounds} rounds of {batch} reads, {len(variants)} variants")
    take_turns(variants, 2)
    times = take_turns(variants, rounds)
    rows = []
    for kind in get_args(Kind):
        for count in sizes:
            name = f"{kind} {count}"
            rows.append(
                ratio_row(
                    f"context, {_NAMES[kind]}, {count:,} messages",
                    "load_cross_context ÷ same SQL through Django's cursor",
                    ratio(times, name, f"{name} cursor"),
                    ("≤", 1.5),
                )
            )
            say(f"context: {name}: {median(times[name]) * 1e6:.0f} µs")
        rows.append(
            ratio_row(
                f"context, {_NAMES[kind]}, growth",
                f"load_cross_context at {sizes[-1]:,} ÷ at {sizes[0]:,} messages",
                ratio(times, f"{kind} {sizes[-1]}", f"{kind} {sizes[0]}"),
                ("≤", 1.2),
            )
        )
    return [*rows, _built(rounds, batch)]


def _pair(user: Any, batch: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """The two things compared, for one user."""
    bare = _bare(lambda: memory.load_cross_context(user))
    return repeated(lambda: memory.load_cross_context(user), batch), repeated(bare, batch)


def _built(rounds: int, batch: int) -> Row:
    """A whole context of 200 messages, with its manifest, ÷ the bare query for them."""
    say("context: building one of 200 messages")
    user = person("built")
    history(user, 200, "ordinary")
    analyze()
    phone = memory.get_singleton(user, "telegram")
    with override_settings(CROSSMEMORY={**django_settings.CROSSMEMORY, "MAX_MESSAGES": 200}):
        assert len(memory.build_context(phone).messages) == 200
        variants = {
            "built": repeated(lambda: memory.build_context(phone), batch),
            "bare": repeated(_bare(lambda: memory.build_context(phone)), batch),
        }
        take_turns(variants, 2)
        times = take_turns(variants, rounds)
    say(f"context: built {median(times['built']) * 1e3:.2f} ms, bare {median(times['bare']) * 1e3:.2f} ms")
    what = "context of 200 messages, built"
    return ratio_row(what, "build_context ÷ the bare query for its messages", ratio(times, "built", "bare"), ("≤", 3))


def _bare(call: Callable[[], object]) -> Callable[[], None]:
    """The statement by which a call reads people's words, through Django's cursor."""
    seen: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        if 'm."text"' in sql:
            seen.append((sql, parameters))
        return execute(sql, parameters, many, context)

    with connection.execute_wrapper(note):
        call()
    [(sql, parameters)] = seen

    def by_cursor() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            cursor.fetchall()

    return by_cursor
