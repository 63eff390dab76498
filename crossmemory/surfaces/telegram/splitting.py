"""Splitting a formatted text into messages. Lengths and offsets of entities are UTF-16 code units, as the Bot API's:
https://core.telegram.org/bots/api#messageentity
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from crossmemory.clean import is_blank
from crossmemory.surfaces.telegram.graphemes import boundary_at_or_before

#: entities that may be cut at a line's end and opened again in the next message
_REOPENED = frozenset({"pre", "blockquote", "expandable_blockquote"})


@dataclass(frozen=True, slots=True)
class Entity:
    """How a part of a text is dressed."""

    type: str
    offset: int
    length: int
    url: str | None = None
    language: str | None = None

    def as_json(self) -> dict[str, Any]:
        given = {name: getattr(self, name) for name in ("type", "offset", "length", "url", "language")}
        return {name: value for name, value in given.items() if value is not None}


def units(text: str) -> int:
    """Length in UTF-16 code units."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def split(text: str, entities: Sequence[Entity], limit: int) -> list[tuple[str, list[Entity]]]:
    """Pieces of at most `limit` units, each with something to see. Joined, they are the text again, but for pieces
    of white space alone, which no message can be."""
    places = [0, *accumulate(2 if ord(char) > 0xFFFF else 1 for char in text)]  # units before each code point
    pieces: list[tuple[str, list[Entity]]] = []
    start = 0
    while start < len(text):
        end = _end(text, places, entities, start, limit)
        if not is_blank(text[start:end]):
            pieces.append((text[start:end], _within(entities, places[start], places[end])))
        start = end
    return pieces


def _end(text: str, places: list[int], entities: Sequence[Entity], start: int, limit: int) -> int:
    """Where the piece that starts at `start` ends: at the best break that fits."""
    if places[-1] - places[start] <= limit:
        return len(text)
    furthest = start
    while places[furthest + 1] - places[start] <= limit:
        furthest += 1
    earliest = start + (furthest - start) // 3  # a nicer break is not worth a tiny piece
    for mark in ("\n\n", "\n", ". ", " "):
        place = text.rfind(mark, earliest, furthest)
        while place >= 0:
            cut = place + len(mark)
            if cut <= furthest and not _tears(entities, places[cut], at_line=mark.startswith("\n")):
                return cut
            place = text.rfind(mark, earliest, place)
    return _hard_end(text, places, entities, start, furthest)


def _hard_end(text: str, places: list[int], entities: Sequence[Entity], start: int, furthest: int) -> int:
    """No break is good: before an entity that fits a piece of its own, else between two characters."""
    cut = boundary_at_or_before(text, furthest, start)
    for entity in entities:
        inside = entity.offset < places[cut] < entity.offset + entity.length
        if inside and entity.type not in _REOPENED and entity.length <= places[furthest] - places[start]:
            before = next((i for i in range(start + 1, cut) if places[i] >= entity.offset), cut)
            cut = boundary_at_or_before(text, before, start) if places[before] > places[start] else cut
    return max(cut, start + 1)


def _tears(entities: Sequence[Entity], place: int, *, at_line: bool) -> bool:
    """Whether a cut at `place` goes through an entity that cannot be closed and opened again there."""
    through = (entity for entity in entities if entity.offset < place < entity.offset + entity.length)
    return any(entity.type not in _REOPENED or not at_line for entity in through)


def _within(entities: Sequence[Entity], start: int, end: int) -> list[Entity]:
    """The entities of a piece, cut to it and counted from its start."""
    found = []
    for entity in entities:
        first, last = max(entity.offset, start), min(entity.offset + entity.length, end)
        if first < last:
            found.append(replace(entity, offset=first - start, length=last - first))
    return found
