"""What the models of all providers have in common."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a provider, and the page that states it."""

    name: str
    says: str
    source: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A rule that a request breaks, and where in the body."""

    rule: Rule
    where: str

    def __str__(self) -> str:
        return f"{self.where}: {self.rule.says} ({self.rule.source})"


def json_refusals(body: Any, most: int, not_json: Rule, too_large: Rule) -> list[Refusal]:
    """What keeps a body from being sent at all: it is no JSON, no UTF-8, or too large (bytes)."""
    try:
        content = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError) as error:  # UnicodeEncodeError is a ValueError
        return [Refusal(not_json, f"body: {error}")]
    return [Refusal(too_large, f"body: {len(content):,} bytes")] if len(content) > most else []


def fits(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def blank(text: Any) -> bool:
    """What providers call empty: nothing, or white space."""
    return not isinstance(text, str) or not text.strip()


def items(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """The objects of a list, with their places."""
    for index, item in enumerate(value if isinstance(value, Sequence) and not isinstance(value, str) else ()):
        if isinstance(item, Mapping):
            yield index, item


def schema() -> dict[str, Any]:
    """The parameters of a declared tool: an object with anything in it."""
    return {"type": "object", "properties": {}}
