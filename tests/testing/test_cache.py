"""The cache models: granularity, marks and life time of each provider."""

from typing import Any

import pytest

from crossmemory.memory import Turn
from crossmemory.testing import providers
from crossmemory.testing.cache import ANTHROPIC, GEMINI, OPENAI, OPENAI_EARLIER, PROVIDERS, PrefixCache

LONG = "word " * 4000  # about 5,000 tokens
#: seconds without use
LIVES = {"openai": 1800, "openai-earlier": 300, "anthropic": 300, "gemini": 300}


def body(provider: str, *texts: str, instructions: str = "") -> dict[str, Any]:
    roles: list[Any] = ["user", "assistant"]
    turns = [Turn.of(roles[place % 2], text) for place, text in enumerate(texts)]
    return providers.request(provider.partition("-")[0], turns, instructions)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_was_sent_before_comes_from_the_cache_and_the_rest_does_not(provider: str) -> None:
    cache = PrefixCache(PROVIDERS[provider])
    first = cache.send(body(provider, LONG), at=0)
    second = cache.send(body(provider, LONG, "answer " * 100, "next " * 100), at=60)
    assert first.cached == 0
    assert first.tokens - 128 <= second.cached <= first.tokens < second.tokens
    assert cache.share == second.cached / (first.tokens + second.tokens)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_another_beginning_is_another_prefix(provider: str) -> None:
    cache = PrefixCache(PROVIDERS[provider])
    cache.send(body(provider, LONG, instructions="It is 09:41."), at=0)
    assert cache.send(body(provider, LONG, instructions="It is 09:42."), at=1).cached == 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_is_forgotten_without_use_and_kept_by_use(provider: str) -> None:
    cache, life = PrefixCache(PROVIDERS[provider]), LIVES[provider]
    for number in range(4):
        served = cache.send(body(provider, LONG), number * life * 0.9)
        assert bool(served.cached) == (number > 0)
    assert cache.send(body(provider, LONG), 3 * life * 0.9 + life + 1).cached == 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_what_is_short_is_not_kept(provider: str) -> None:
    least = PROVIDERS[provider].least
    cache = PrefixCache(PROVIDERS[provider])
    short = "abcd" * (least - 100)
    cache.send(body(provider, short), 0)
    assert cache.send(body(provider, short), 1).cached == 0


def test_openai_kept_steps_of_128_tokens_before_it_had_marks() -> None:
    for size in range(1100, 1500, 37):
        cache = PrefixCache(OPENAI_EARLIER)
        cache.send(body("openai", "abcd" * size), 0)
        cached = cache.send(body("openai", "abcd" * size, "x", "y"), 1).cached
        assert cached >= 1024
        assert (cached - 1024) % 128 == 0


def test_a_beginning_that_breaks_off_inside_a_message_is_found_where_tokens_are_compared() -> None:
    for name, provider, found in (
        ("openai", OPENAI_EARLIER, True),
        ("gemini", GEMINI, True),
        ("openai", OPENAI, False),
        ("anthropic", ANTHROPIC, False),
    ):
        cache = PrefixCache(provider)
        cache.send(body(name, LONG + "one end"), 0)
        assert (cache.send(body(name, LONG + "another"), 1).cached > 4000) is found


def test_openai_keeps_the_end_of_the_newest_message_and_of_the_instructions_however_much_follows() -> None:
    cache = PrefixCache(OPENAI)
    cache.send(body("openai", "first", instructions=LONG), 0)
    more = cache.send(body("openai", "first", *["x"] * 200, instructions=LONG), 1)
    assert more.cached > 5000
    instructions = cache.send(body("openai", "another", instructions=LONG), 2)
    assert 4900 < instructions.cached < more.cached
    only_marks = {**body("openai", "new", LONG), "prompt_cache_options": {"mode": "explicit"}}
    cache.send(only_marks, 3)
    assert cache.send(only_marks, 4).cached == 0


def test_a_mark_says_how_long() -> None:
    hour = providers.anthropic.request([Turn.of("user", LONG)], ttl="1h")
    cache = PrefixCache(ANTHROPIC)
    cache.send(hour, 0)
    assert cache.send(hour, 3599).cached > 4000
    half_a_day = {**body("openai", LONG), "prompt_cache_options": {"ttl": "12h"}}
    cache = PrefixCache(OPENAI)
    cache.send(half_a_day, 0)
    assert cache.send(half_a_day, 43_000).cached > 4000


def test_anthropic_keeps_only_what_is_marked_and_finds_it_within_twenty_blocks() -> None:
    cache = PrefixCache(ANTHROPIC)
    unmarked = body("anthropic", LONG)
    for block in unmarked["messages"][-1]["content"]:
        block.pop("cache_control")
    cache.send(unmarked, 0)
    assert cache.send(unmarked, 1).cached == 0
    cache.send(body("anthropic", LONG + "one end"), 2)
    near = [LONG + "one end", *["x"] * 18]
    assert cache.send(body("anthropic", *near), 4).cached > 4000
    far = [LONG + "one end", *["y"] * 20]
    assert cache.send(body("anthropic", *far), 5).cached == 0
