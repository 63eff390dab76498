"""Repair: any provider-neutral history becomes one that every model's API takes. Pure, deterministic, idempotent.

Nothing that was said is lost: what has no place moves to where it has one, and only blanks and results that answer
nothing go. `repaired` is done on the list before it is rendered; `merged` while it is.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from crossmemory.clean import clean, is_blank
from crossmemory.memory.types import Block, Call, File, Result, Turn, Words

#: the list opens on a user turn: it stands before an answer that has lost what it answers
OPENER = "(What came before this is not shown.)"
#: what a call gets whose result never came
INTERRUPTED = "Interrupted: whether this was done is not known."

# What all providers take: OpenAI ids of 40 characters and names of 64, Anthropic no other characters, Gemini no name
# that begins with a digit.
_ID_LENGTH, _NAME_LENGTH = 40, 64
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def repaired(turns: Iterable[Turn]) -> list[Turn]:
    """The list as any provider takes it: it opens on a user turn, each call has its result in the turn right after,
    each result its call right before; no blanks, no files but the words for them, nothing that JSON does not take.

    It may end on an assistant turn: then there is nothing to answer, and no request to be made.
    """
    given = [turn for turn in map(_cleaned, turns) if turn.blocks]
    results = _paired(given)
    ids = _Ids()
    made: list[Turn] = []
    for index, turn in enumerate(given):
        calls: list[tuple[int, Call]] = []
        words: list[Block] = []
        for place, block in enumerate(turn.blocks):
            if isinstance(block, Call) and turn.role == "assistant":
                calls.append((place, block))
            elif isinstance(block, Words):
                if calls:  # said after a call: its result comes first
                    made += _step(words, [(call, results.get((index, at))) for at, call in calls], ids)
                    calls, words = [], []
                words.append(block)
        if calls:
            made += _step(words, [(call, results.get((index, at))) for at, call in calls], ids)
        elif words:
            made.append(Turn(turn.role, tuple(words)))
    if made and made[0].role == "assistant":
        made.insert(0, Turn.of("user", OPENER))
    return made


def merged(turns: Sequence[Turn]) -> list[Turn]:
    """Neighbours of the same role as one turn, so that roles alternate. Blocks stay apart: caches compare blocks."""
    made: list[Turn] = []
    for turn in turns:
        if made and made[-1].role == turn.role:
            made[-1] = Turn(turn.role, made[-1].blocks + turn.blocks)
        else:
            made.append(turn)
    return made


def without_tools(turns: Iterable[Turn]) -> list[Turn]:
    """Calls and results as words, for a request that offers no tools: some APIs take none then."""
    return [Turn(turn.role, tuple(map(_told, turn.blocks))) for turn in turns]


def plain(value: Any) -> Any:
    """A value as JSON has it: keys are text, no half surrogate pairs, no NaN; what JSON does not know is its text."""
    if isinstance(value, str):
        return clean(value)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Mapping):
        return {clean(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return clean(str(value))


def _cleaned(turn: Turn) -> Turn:
    blocks = (_block(block) for block in turn.blocks)
    return Turn(turn.role, tuple(each for each in blocks if not (isinstance(each, Words) and is_blank(each.text))))


def _block(block: Block) -> Block:
    match block:
        case Words(text):
            return Words(clean(text))
        case File(words):
            return Words("" if is_blank(words) else f"[{' '.join(clean(words).split())}]")
        case Call(id, name, arguments):
            arguments = plain({} if arguments is None else arguments)
            return Call(id, _name(name), arguments if isinstance(arguments, dict) else {"value": arguments})
        case Result(id, name, content, failed):
            return Result(id, _name(name), plain(content), failed)


def _name(name: str) -> str:
    """A tool's name as all providers take it."""
    name = _NOT_IN_NAMES.sub("_", name) or "tool"
    return (name if name[0].isalpha() or name[0] == "_" else f"_{name}")[:_NAME_LENGTH]


def _paired(turns: Sequence[Turn]) -> dict[tuple[int, int], Result]:
    """Which result answers which call (turn, place). Where ids repeat, a result belongs to the newest turn that waits
    for it, and in that turn to the first call."""
    waiting: dict[str, dict[int, list[int]]] = {}
    found: dict[tuple[int, int], Result] = {}
    for index, turn in enumerate(turns):
        for place, block in enumerate(turn.blocks):
            if isinstance(block, Call) and turn.role == "assistant":
                waiting.setdefault(block.id, {}).setdefault(index, []).append(place)
            elif isinstance(block, Result) and (open_calls := waiting.get(block.id)):
                newest = max(open_calls)
                found[newest, open_calls[newest].pop(0)] = block
                if not open_calls[newest]:
                    del open_calls[newest]
    return found


class _Ids:
    """Gives each call an id that all providers take and that no other call has."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def fresh(self, id: str) -> str:
        base = _NOT_IN_NAMES.sub("_", id)[:_ID_LENGTH] or "call"
        name, number = base, 1
        while name in self._given:
            number += 1
            ending = f"-{number}"
            name = base[: _ID_LENGTH - len(ending)] + ending
        self._given.add(name)
        return name


def _step(words: Sequence[Block], calls: Sequence[tuple[Call, Result | None]], ids: _Ids) -> list[Turn]:
    """Calls that were made at once, and one turn with their results in the same order."""
    asked: list[Block] = []
    came: list[Block] = []
    for call, result in calls:
        name = ids.fresh(call.id)
        asked.append(Call(name, call.name, call.arguments))
        content, failed = (result.content, result.failed) if result else (INTERRUPTED, True)
        came.append(Result(name, call.name, content, failed))
    return [Turn("assistant", (*words, *asked)), Turn("user", tuple(came))]


def _told(block: Block) -> Block:
    """As one line each: JSON has no line ends."""
    match block:
        case Call(_, name, arguments):
            return Words(f"[used {name}: {json.dumps(arguments)}]")
        case Result(_, name, content, failed):
            return Words(f"[{name} {'did not work' if failed else 'gave'}: {json.dumps(content)}]")
    return block
