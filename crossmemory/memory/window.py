"""Windows: how much of what was selected is kept. Pure functions over ascending messages.

Providers cache the longest unchanged prefix of a request. So a window's start does not move with every message but in
steps: it fills to twice its size and is cut to its size; to its budget, and is cut to half of it.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from crossmemory.clean import is_blank
from crossmemory.memory.types import LeftOut, Reason, Remembered

_STEPS = 24  # in which a time window moves: one of a day, by the hour


def edge(now: datetime, hours: float) -> datetime:
    """Where a window of so many hours begins: at the step before, so that it does not move with every message."""
    since = now - timedelta(hours=hours)
    step = hours * 3600 / _STEPS
    return since - timedelta(seconds=since.timestamp() % step) if step > 0 else since


def where(
    messages: Sequence[Remembered], keep: Callable[[Remembered], bool], reason: Reason
) -> tuple[list[Remembered], list[LeftOut]]:
    """Messages of which `keep` says so; the others are left out for this reason."""
    kept, out = [], []
    for message in messages:
        if keep(message):
            kept.append(message)
        else:
            out.append(LeftOut(message.id, reason))
    return kept, out


def without_blanks(messages: Sequence[Remembered]) -> tuple[list[Remembered], list[LeftOut]]:
    """Messages that say something."""
    return where(messages, lambda message: not is_blank(message.text), "blank")


def stepped(
    messages: Sequence[Remembered], limit: int, previous_start: int | None
) -> tuple[list[Remembered], list[LeftOut]]:
    """The newest `limit` messages, or up to twice as many from where the previous window started.

    So that it can be seen whether there are more than twice as many, one more has to be given.
    """
    if previous_start is not None:
        since = [message for message in messages if message.id >= previous_start]
        if since and len(since) <= 2 * limit:
            before = messages[: len(messages) - len(since)]
            far = max(0, len(messages) - limit)  # what is nearer would fit by its number: it was cut by the budget
            return since, _out(before[:far], "count") + _out(before[far:], "tokens")
    kept = list(messages[-limit:]) if limit else []
    return kept, _out(messages[: len(messages) - len(kept)], "count")


def within_budget(
    messages: Sequence[Remembered], budget: int | None, cost: Callable[[Remembered], int]
) -> tuple[list[Remembered], list[LeftOut]]:
    """All, when their tokens fit into `budget`; else the newest that fit into half of it. The newest always stays."""
    if budget is None:
        return list(messages), []
    costs = [cost(message) for message in messages]
    if sum(costs) <= budget:
        return list(messages), []
    spent, first = 0, len(messages)
    while first and ((spent := spent + costs[first - 1]) <= budget // 2 or first == len(messages)):
        first -= 1
    return list(messages[first:]), _out(messages[:first], "tokens")


def whole_turns(messages: Sequence[Remembered]) -> tuple[list[Remembered], list[LeftOut]]:
    """Without answers whose question is not there: the unit of trimming is a whole turn."""
    present = {(message.conversation_id, message.seq) for message in messages}
    return where(
        messages,
        lambda message: message.turn == message.seq or (message.conversation_id, message.turn) in present,
        "cut turn",
    )


def turn_by_turn(messages: Sequence[Remembered]) -> list[Remembered]:
    """In the order in which turns were opened, each whole: an answer follows its question, whatever came between."""
    opened = {(message.conversation_id, message.seq): message.id for message in messages}
    return sorted(
        messages, key=lambda message: (opened.get((message.conversation_id, message.turn), message.id), message.id)
    )


def placed(messages: Sequence[Remembered], placement: str) -> list[Remembered]:
    """Where other conversations stand: in time ("merged"), before the thread, or just before the new message."""
    if placement == "merged":
        return list(messages)
    own = [message for message in messages if message.own]
    others = [message for message in messages if not message.own]
    if placement == "prepended":
        return others + own
    new = len(own)
    while new and own[new - 1].role == "user":
        new -= 1
    return own[:new] + others + own[new:]


def merged(own: Sequence[Remembered], others: Sequence[Remembered]) -> list[Remembered]:
    """One ascending list by key, without a message twice: the guard compares keys, never texts."""
    by_id = {message.id: message for message in others}
    by_id.update({message.id: message for message in own})
    return [by_id[key] for key in sorted(by_id)]


def _out(messages: Sequence[Remembered], reason: Reason) -> list[LeftOut]:
    return [LeftOut(message.id, reason) for message in messages]
