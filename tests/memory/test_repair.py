"""Any history, cut anywhere, becomes one that every provider takes; and nothing that was said is lost."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossmemory.clean import clean, is_blank
from crossmemory.memory import Call, File, Result, Turn, Words
from crossmemory.memory.repair import INTERRUPTED, OPENER, merged, plain, repaired, without_tools
from crossmemory.testing import providers
from crossmemory.testing.histories import history

QUESTION = Turn.of("user", "And now?")


def drawn(data: st.DataObject, longest: int = 10) -> list[Turn]:
    return history(lambda n: data.draw(st.integers(0, n - 1)), longest)


def refusals(turns: list[Turn]) -> dict[str, list[str]]:
    """Of all providers, for the turns as they are and merged, with tools and with their use told in words."""
    found = {}
    for provider in providers.PROVIDERS:
        for shape in (turns, merged(turns), merged(without_tools(turns))):
            if broken := providers.refusals(provider, providers.request(provider, shape, "Be kind.")):
                found[provider] = [str(each) for each in broken]
    return found


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_provider_takes_every_cut(data: st.DataObject) -> None:
    turns = drawn(data)
    for start in range(len(turns) + 1):
        for end in range(start, len(turns) + 1):
            cut = repaired(turns[start:end])
            assert refusals(repaired([*cut, QUESTION])) == {}
            assert refusals(repaired([*turns[start:end], QUESTION])) == {}
            if cut and cut[-1].role == "user":  # else nobody asks anything, and nothing is sent
                assert refusals(cut) == {}


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_twice_is_the_same_as_once(data: st.DataObject) -> None:
    once = repaired(drawn(data, 20))
    assert repaired(once) == once
    assert merged(merged(once)) == merged(once)
    assert merged(repaired(merged(once))) == merged(once)


def said(turns: list[Turn]) -> Counter[tuple[str, str]]:
    """Each text that says something, with who said it; files as the words that stand for them."""
    found: Counter[tuple[str, str]] = Counter()
    for turn in turns:
        for block in turn.blocks:
            match block:
                case Words(text) if not is_blank(text) and text != OPENER:
                    found[turn.role, clean(text)] += 1
                case File(words) if not is_blank(words):
                    found[turn.role, f"[{' '.join(clean(words).split())}]"] += 1
    return found


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_nothing_is_lost_and_nothing_is_made_up(data: st.DataObject) -> None:
    turns = drawn(data, 20)
    made = repaired(turns)
    assert said(made) == said(turns)
    calls = [block for turn in turns if turn.role == "assistant" for block in turn.blocks if isinstance(block, Call)]
    assert len([call for turn in made for call in turn.calls]) == len(calls)
    given_results = Counter(str(plain(result.content)) for turn in turns for result in turn.results)
    kept = Counter(str(result.content) for turn in made for result in turn.results if result.content != INTERRUPTED)
    assert kept <= given_results


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_words_keep_their_order_on_each_side(data: st.DataObject) -> None:
    turns = drawn(data, 20)
    for role in ("user", "assistant"):
        one, other = (
            [key for turn in some for key in said([turn]) if key[0] == role] for some in (turns, repaired(turns))
        )
        assert list(dict.fromkeys(one)) == list(dict.fromkeys(other))


def test_a_call_without_its_result_is_interrupted_and_a_result_without_its_call_goes() -> None:
    turns = [
        Turn.of("user", "cancel booking 9"),
        Turn.of("assistant", Call("c1", "cancel", {"id": 9})),
        Turn.of("user", Result("other", "wx", "rain")),
        Turn.of("user", "did it work?"),
    ]
    assert repaired(turns) == [
        turns[0],
        turns[1],
        Turn.of("user", Result("c1", "cancel", INTERRUPTED, True)),
        turns[3],
    ]


def test_parallel_calls_have_their_results_in_one_turn_wherever_those_came() -> None:
    one, two = Call("1", "wx", {}), Call("2", "wx", {})
    rain, wind = Result("1", "wx", "rain"), Result("2", "wx", "wind")
    expected = [Turn.of("user", "weather?"), Turn.of("assistant", one, two), Turn.of("user", rain, wind)]
    for turns in (
        [Turn.of("user", wind), Turn.of("user", rain)],
        [Turn.of("user", wind, rain)],
        [Turn.of("user", wind), Turn.of("assistant", rain)],
    ):
        assert repaired([*expected[:2], *turns]) == expected
    late = repaired([*expected[:2], Turn.of("user", wind), Turn.of("user", "hurry"), Turn.of("user", rain)])
    assert late == [*expected, Turn.of("user", "hurry")]


def test_an_id_that_is_used_again_is_another_calls() -> None:
    call, result = Call("a", "wx", {}), Result("a", "wx", "rain")
    turns = [
        Turn.of("user", "weather?"),
        Turn.of("assistant", call),
        Turn.of("user", "never mind, again"),
        Turn.of("assistant", call),
        Turn.of("user", result),
    ]
    made = repaired(turns)
    assert [result.content for turn in made for result in turn.results] == [INTERRUPTED, "rain"]
    assert len({call.id for turn in made for call in turn.calls}) == 2


def test_an_answer_without_its_question_keeps_its_words() -> None:
    made = repaired([Turn.of("assistant", "It is 9: call Noor."), Turn.of("user", "Who?")])
    assert made == [Turn.of("user", OPENER), Turn.of("assistant", "It is 9: call Noor."), Turn.of("user", "Who?")]


def test_neighbours_are_merged_when_they_are_rendered_and_stay_blocks_of_their_own() -> None:
    turns = [Turn.of("user", "one"), Turn.of("user", "two"), Turn.of("assistant", "three")]
    assert repaired(turns) == turns
    assert merged(turns) == [Turn.of("user", "one", "two"), Turn.of("assistant", "three")]
    assert merged(turns)[0].text == "one\n\ntwo"
    assert all(one.role != other.role for one, other in pairwise(merged(turns)))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        ("x\udc00y", "x\ufffdy"),
        ("\ud83d\ude00", "\U0001f600"),
        ({1: {"deep": ("a", None)}}, {"1": {"deep": ["a", None]}}),
        (True, True),
        (7, 7),
    ],
)
def test_values_are_what_json_takes(value: Any, expected: Any) -> None:
    assert plain(value) == expected


def test_without_tools_their_use_is_told_in_one_line_each() -> None:
    turns = repaired(
        [
            Turn.of("user", "weather?"),
            Turn.of("assistant", Call("1", "wx", {"where": "a\nb"})),
            Turn.of("user", Result("1", "wx", "rain\nobey")),
        ]
    )
    told = without_tools(turns)
    assert [turn.text for turn in told] == ["weather?", '[used wx: {"where": "a\\nb"}]', '[wx gave: "rain\\nobey"]']
