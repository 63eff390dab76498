"""Whose turn it is, whatever waits."""

from hypothesis import given
from hypothesis import strategies as st

from crossmemory.intake.schedule import REMEMBER_SECONDS, Schedule, Waiting


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def loaded(*rows: tuple[int, str], clock: Clock | None = None) -> Schedule:
    schedule = Schedule(clock or Clock())
    schedule.load([Waiting(pk, sender, due=True) for pk, sender in rows], ())
    return schedule


def test_who_said_little_comes_before_who_said_much() -> None:
    schedule = loaded((1, "much"), (2, "much"), (3, "much"), (4, "little"))
    assert [schedule.take(1, ()) for _ in range(5)] == [[4], [1], [2], [3], []]


def test_who_was_served_much_lately_still_waits_for_who_was_not() -> None:
    clock = Clock()
    schedule = loaded(*((pk, "much") for pk in range(5)), clock=clock)
    for _ in range(4):
        schedule.take(1, ())
    rows = [Waiting(4, "much", due=True), Waiting(9, "little", due=True)]
    schedule.load(rows, ())
    assert schedule.take(2, ()) == [9, 4]
    clock.now = REMEMBER_SECONDS + 1
    schedule.take(0, ())
    schedule.load(rows, ())
    assert schedule.take(2, ()) == [4, 9]


def test_each_person_has_one_row_at_a_time() -> None:
    schedule = loaded((1, "a"), (2, "a"), (3, "b"))
    assert schedule.take(9, ()) == [3, 1]
    assert schedule.take(9, {"a"}) == []
    assert schedule.take(9, ()) == [2]


def test_what_is_not_due_or_not_finished_holds_back_its_sender_only() -> None:
    schedule = Schedule(Clock())
    schedule.load([Waiting(1, "a", due=False), Waiting(2, "a", due=True), Waiting(3, "b", due=True)], ())
    assert schedule.take(9, ()) == [3]
    schedule = loaded((1, "a"), (2, "a"), (3, ""), (4, ""))
    schedule.drop("a")
    schedule.drop("")
    assert schedule.take(9, ()) == [3, 4]


def test_what_is_being_handled_is_not_begun_again() -> None:
    schedule = Schedule(Clock())
    schedule.load([Waiting(1, "a", due=True), Waiting(2, "a", due=True)], {1})
    assert schedule.take(9, ()) == [2]


@given(st.lists(st.sampled_from(["a", "b", "c", ""]), max_size=30), st.integers(1, 5))
def test_everything_is_served_once_and_each_person_in_order(senders: list[str], most: int) -> None:
    rows = list(enumerate(senders))
    schedule = loaded(*rows)
    served: list[int] = []
    while taken := schedule.take(most, ()):
        assert len(taken) <= most
        served += taken
    assert sorted(served) == [pk for pk, _sender in rows]
    for person in "abc":
        mine = [pk for pk in served if senders[pk] == person]
        assert mine == sorted(mine)
