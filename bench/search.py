"""One search among a million messages of a thousand people, whose words are as rare and as common as words are:
milliseconds, and ÷ reading the person's messages and comparing them in the database."""

import random
import time
from statistics import quantiles
from typing import Any

from django.db import connection

from bench.people import analyze, person
from bench.rounds import ratio, spread
from bench.table import Row, ratio_row, say
from crossmemory import log, memory
from crossmemory.models import Message, Owner

_WORDS = 20_000  # in the vocabulary; the n-th is about as common as people's n-th


def measure(quick: bool) -> list[Row]:
    people, each, searches = (100, 200, 50) if quick else (1_000, 1_000, 400)
    chance = random.Random(1)
    vocabulary = ["".join(chance.choices("abcdefghilmnoprstuv", k=chance.randint(3, 10))) for _ in range(_WORDS)]
    owners = [person(f"search-{number}") for number in range(people)]
    say(f"search: {people * each:,} messages of {people:,} people, and their index")
    for user in owners:
        _history(user, [" ".join(_word(chance.random(), vocabulary) for _ in range(12)) for _ in range(each)])
    analyze()
    times: dict[str, list[float]] = {"search": [], "read": []}
    say(f"search: {searches} searches of one to four words")
    for number in range(-20, searches):
        user, words = chance.choice(owners), [_word(chance.random(), vocabulary) for _ in range(chance.randint(1, 4))]
        found = {name: _timed(name, user, words) for name in times}
        if number >= 0:  # the first ones open connections and fill caches
            for name, seconds in found.items():
                times[name].append(seconds)
    taken = [seconds * 1e3 for seconds in times["search"]]
    late, what = quantiles(taken, n=20)[-1], f"search among {people * each:,} messages of {people:,} people"
    row = ratio_row(what, "memory.search, one to four words", spread(taken), ("≤", 50), " ms")
    reached = "yes" if late <= 50 else "NO"
    return [
        Row(row.what, row.compared, f"{row.median} (95 %: {late:.1f} ms)", row.spread, "95 % ≤ 50 ms", reached),
        ratio_row(what, "memory.search ÷ comparing all of the person's messages", ratio(times, "search", "read")),
    ]


def _word(chance: float, vocabulary: list[str]) -> str:
    return vocabulary[int(len(vocabulary) * chance**4)]


def _timed(name: str, user: Any, words: list[str]) -> float:
    began = time.perf_counter()
    if name == "search":
        memory.search(user, " ".join(words))
    else:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT id, text FROM {Message._meta.db_table} WHERE owner_id = %s AND tenant = ''"
                " AND agent = 'default' AND shared AND status = 'complete' AND text ILIKE ANY(%s)"
                " ORDER BY id DESC LIMIT 300",
                [user.pk, [f"%{word}%" for word in words]],
            )
            cursor.fetchall()
    return time.perf_counter() - began


def _history(user: Any, texts: list[str]) -> None:
    """These messages, the newest last, in ten conversations."""
    places = [log.create(Owner.of(user), "telegram", f"{number}").pk for number in range(10)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {Message._meta.db_table} (uid, conversation_id, owner_id, tenant, agent, seq, turn, role,
                author_kind, author_id, text, shared, status, steer, client_hash, created_at)
            SELECT gen_random_uuid(), (%s::bigint[])[1 + n %% 10], %s, '', 'default', 2 + n / 10, 2 + n / 10, 'user',
                'user', %s, text, true, 'complete', '', '', now() - interval '1 minute' * (%s - n)
            FROM unnest(%s::text[]) WITH ORDINALITY AS said (text, n)""",
            [places, user.pk, str(user.pk), len(texts), texts],
        )
