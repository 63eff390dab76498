"""`python -m bench cache`, or `python bench/cache.py [--turns 200] [--plays 5] [--pause 120] [--messages 16]`: a person
talks to the assistant on three surfaces in turn; which share of the tokens of all requests would come from the
providers' caches? For our three placements, and for the window of the newest N messages that moves with every message.
Needs no server: the caches are those of `crossmemory.testing.cache`, the requests those that a model would get.
"""

import argparse
import random
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any
from unittest.mock import patch

SURFACES = ("web", "telegram", "whatsapp")
#: (what is printed, placement, whether the window's start is remembered from one answer to the next)
WAYS = (
    ("merged", "merged", True),
    ("prepended", "prepended", True),
    ("late", "late", True),
    ("newest N, moving", "prepended", False),
)
Said = tuple[str, float, str, str]  # surface, seconds, question, answer
_TEXT = (
    "the ferry leaves from gate four at seven and my sister comes along with two bicycles so please "
    "remember that we need a place for them on deck and a table by the window where the dog may lie while "
    "we have breakfast "
)
# About 2,000 tokens, as real instructions with their tools are.
_INSTRUCTIONS = (
    "You are the assistant of a harbour. You help people who travel: with tables, tickets, bicycles, dogs, and with"
    " what they have told you before. Answer in the language in which you were asked, briefly, and say so when you do"
    " not know. "
) * 27
_TOOLS = ("tides", "timetable", "book_ticket", "cancel_booking")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/cache.py", description=__doc__)
    parser.add_argument("--turns", type=int, default=200, help="of one play")
    parser.add_argument("--plays", type=int, default=5, help="plays with other words and other times each")
    parser.add_argument("--pause", type=float, default=120, help="seconds from one question to the next, at most")
    parser.add_argument("--messages", type=int, default=16, help="MAX_MESSAGES; RECENT_MAX_MESSAGES is half of it")
    options = parser.parse_args(arguments)
    sys.path[0] = str(Path(__file__).resolve().parent.parent)  # also when this file is run by itself

    from bench.alone import start

    web = {"BACKEND": "crossmemory.surfaces.web.WebSurface"}
    start(
        {
            "SURFACES": dict.fromkeys(SURFACES, web),
            "MAX_MESSAGES": options.messages,
            "RECENT_MAX_MESSAGES": options.messages // 2,
        }
    )

    names = [name for name, _cache, _request in _caches()]
    print(f"| window, placement | tokens a request | {' | '.join(names)} |")
    print("|---" * (2 + len(names)) + "|")
    for name, placement, remembers in WAYS:
        plays = []
        for seed in range(options.plays):
            chance = random.Random(seed)
            turns = list(schedule(options.turns, options.pause, chance))
            plays.append(play(f"{name} {seed}", placement, remembers, turns))
        size = mean(served.tokens for caches in plays for served in caches[0].sent)
        shares = [_shown([cache.share for cache in caches]) for caches in zip(*plays, strict=True)]
        print(f"| {name} | {size:,.0f} | {' | '.join(shares)} |", flush=True)
    print(f"\nshare from the cache, the mean of {options.plays} plays (least – most)")
    return 0


def _caches() -> list[tuple[str, Any, Any]]:
    """What is printed, a fresh cache, and how a request for it is made."""
    from crossmemory.testing import cache
    from crossmemory.testing.providers import anthropic, gemini, openai_chat

    return [
        ("OpenAI", cache.PrefixCache(cache.OPENAI), openai_chat.request),
        ("OpenAI before GPT-5.6", cache.PrefixCache(cache.OPENAI_EARLIER), openai_chat.request),
        ("Anthropic, 5 min", cache.PrefixCache(cache.ANTHROPIC), anthropic.request),
        ("Anthropic, 1 h", cache.PrefixCache(cache.ANTHROPIC), partial(anthropic.request, ttl="1h")),
        ("Gemini", cache.PrefixCache(cache.GEMINI), gemini.request),
    ]


def _shown(shares: Sequence[float]) -> str:
    return f"{mean(shares):.1%} ({min(shares):.1%} – {max(shares):.1%})"


def schedule(turns: int, pause: float, chance: random.Random) -> Iterator[Said]:
    """What is said where and when: people stay on a surface for 5 to 15 turns."""
    at, surface, left = 0.0, SURFACES[0], 10
    for _turn in range(turns):
        if not left:
            surface = chance.choice([each for each in SURFACES if each != surface])
            left = chance.randint(5, 15)
        left -= 1
        at += chance.uniform(5, pause)
        yield surface, at, _text(chance, 4, 30), _text(chance, 15, 150)


def play(name: str, placement: str, remembers: bool, turns: Sequence[Said]) -> list[Any]:
    """The caches of all providers after the play."""
    from django.contrib.auth import get_user_model

    from crossmemory import log, memory
    from crossmemory.events import Actor
    from crossmemory.log import NewMessage
    from crossmemory.models import Owner, Run

    user = get_user_model().objects.create(username=name)
    person, agent = Actor("user", str(user.pk)), Actor("agent", "default")
    places = {surface: memory.get_singleton(user, surface) for surface in SURFACES[1:]}
    places["web"] = log.create(Owner.of(user), "web")
    caches = _caches()
    morning = datetime(2026, 11, 30, 7, tzinfo=UTC)
    for surface, at, question, answer in turns:
        place = places[surface]
        with patch("django.utils.timezone.now", return_value=morning + timedelta(seconds=at)):
            seq = log.append_message(place, NewMessage("user", person, question)).seq
            context = memory.build_context(place, trigger=seq, placement=placement)
        given = memory.turns(context)
        for _name, cache, request in caches:
            cache.send(request(given, _INSTRUCTIONS, _TOOLS), at)
        if remembers:
            Run.objects.create(
                conversation=place,
                agent="default",
                trigger=seq,
                status=Run.Status.COMPLETED,
                window_start=context.window_start,
                recent_start=context.recent_start,
            )
        with patch("django.utils.timezone.now", return_value=morning + timedelta(seconds=at + 5)):
            log.append_message(place, NewMessage("assistant", agent, answer, turn=seq))
    return [cache for _name, cache, _request in caches]


def _text(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choices(_TEXT.split(), k=chance.randint(least, most)))


if __name__ == "__main__":
    sys.exit(main())
