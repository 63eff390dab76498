"""For a site whose front end sends its own history: the recent messages of other surfaces, none that it has already."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from crossmemory.memory.types import LeftOut, Remembered

ROLES: Mapping[str, Literal["user", "assistant", "system"]] = {
    "user": "user",
    "assistant": "assistant",
    "model": "assistant",
    "system": "system",
}
# What the end of a history has to share with ours to be the same messages, where it carries no ids: people say "yes"
# twice, and "yes", "OK" twice, but nobody repeats three messages in a row, or two long ones.
_IN_A_ROW = 3
_CHARACTERS = 24


def missing(
    recent: Sequence[Remembered], history: Sequence[Mapping[str, Any]]
) -> tuple[list[Remembered], list[LeftOut]]:
    """What `history` (`{"role", "content"}`, perhaps `"id"`) does not have of the recent messages; and its duplicates.

    By id where it carries ids, else where both sequences align: never because an equal text was said elsewhere.
    """
    known = {str(entry["id"]) for entry in history if entry.get("id") is not None}
    if known:
        kept = [message for message in recent if str(message.id) not in known]
    else:
        kept = list(recent[: len(recent) - _overlap(recent, history)])
    shown = {message.id for message in kept}
    return kept, [LeftOut(message.id, "duplicate") for message in recent if message.id not in shown]


def _overlap(recent: Sequence[Remembered], history: Sequence[Mapping[str, Any]]) -> int:
    """How many of the last recent messages the history already holds, as one aligned run of the same words."""
    said = [(ROLES.get(str(entry.get("role")), "user"), str(entry.get("content", ""))) for entry in history]
    mine = [(message.role, message.text) for message in recent]
    for length in range(min(len(mine), len(said)), 1, -1):
        tail = mine[-length:]
        if length < _IN_A_ROW and sum(len(text) for _role, text in tail) < _CHARACTERS:
            return 0
        if any(said[start : start + length] == tail for start in range(len(said) - length + 1)):
            return length
    return 0
