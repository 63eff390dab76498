"""Buttons below what we said. The data of each begins with what it is about: `ask:…`, `again:…`, `tool:…`."""

from collections.abc import Callable

from crossmemory import inbox
from crossmemory.intake import again, approving, asking
from crossmemory.intake.case import Case
from crossmemory.runs import cards

#: by the word before the first colon; each carries out the press and marks the update as done
PRESSED: dict[str, Callable[[Case, str], None]] = {
    asking.DATA: asking.pressed,
    "again": again.pressed,
    cards.DATA: approving.pressed,
}


def press(case: Case) -> None:
    """Carry out what a button stands for. Twice is the same as once."""
    word, _colon, data = case.inbound.text.partition(":")
    if word in PRESSED:
        PRESSED[word](case, data)
    else:
        inbox.skip(case.row, f"button {word}"[:60], link=case.link)
