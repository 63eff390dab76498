"""How fast one bot writes: limits of a chat and of all, answers before previews."""

import pytest

from crossmemory.surfaces.telegram.pacing import ALL_BURST, ALL_SECONDS, CHAT_BURST, Pace


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock)


def test_a_few_answers_go_at_once_then_one_a_second(pace: Pace) -> None:
    waits = [pace.turn("a") for _ in range(CHAT_BURST + 3)]
    assert waits == pytest.approx([0.0] * CHAT_BURST + [1.0, 2.0, 3.0])
    assert pace.turn("b") == 0


def test_all_chats_together_have_a_limit_too(pace: Pace) -> None:
    waits = [pace.turn(str(number)) for number in range(ALL_BURST + 30)]
    assert waits[:ALL_BURST] == [0.0] * ALL_BURST
    assert waits[-1] == pytest.approx(30 * ALL_SECONDS)


def test_a_preview_goes_once_a_second(pace: Pace, clock: Clock) -> None:
    shown = 0
    for _ in range(40):
        shown += pace.may_preview("a", clock.now)
        clock.now += 0.1
    assert shown == 4


def test_a_preview_takes_no_turn_that_an_answer_may_need(pace: Pace, clock: Clock) -> None:
    for number in range(3):
        pace.turn(str(number))
    assert not pace.may_preview("a", clock.now)  # others have just been written to
    clock.now += 3 * ALL_SECONDS + 0.001
    assert pace.may_preview("a", clock.now)
    assert pace.turn("a") == 0


def test_what_was_seen_before_an_answer_went_is_not_shown_below_it(pace: Pace, clock: Clock) -> None:
    seen = clock.now
    clock.now += 5
    pace.answered("a")
    assert not pace.may_preview("a", seen)
    assert pace.may_preview("b", seen)
    clock.now += 1
    assert pace.may_preview("a", clock.now)


def test_a_limit_that_a_preview_meets_closes_its_chat_and_pauses_all_previews(pace: Pace, clock: Clock) -> None:
    pace.close("a", 13900, preview=True)
    assert pace.closed("a") == 13900
    assert not pace.may_preview("b", clock.now)
    assert pace.closed("b") == 0  # answers go on elsewhere
    clock.now += 31
    assert pace.may_preview("b", clock.now)
    assert not pace.may_preview("a", clock.now)


def test_a_limit_that_an_answer_meets_closes_its_chat_alone(pace: Pace, clock: Clock) -> None:
    pace.close("a", 33)
    assert not pace.may_preview("a", clock.now)
    assert pace.may_preview("b", clock.now)
    clock.now += 34
    assert pace.closed("a") == 0


def test_chats_of_long_ago_are_forgotten(pace: Pace, clock: Clock) -> None:
    for number in range(5000):
        pace.answered(str(number))
        pace.turn(str(number))
        clock.now += 1
    assert len(pace._chats) + len(pace._answered) < 4100
