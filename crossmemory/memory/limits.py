"""How much an assistant sees: the site's settings, what an agent's entry says otherwise, and what a surface's does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string

from crossmemory.conf import settings

#: what `"MEMORY": {…}` in an entry of AGENTS or SURFACES may say
NAMES = (
    "HOURS_BACK",
    "MAX_MESSAGES",
    "RECENT_MAX_MESSAGES",
    "THREAD_MAX_MESSAGES",
    "TOKEN_BUDGET",
    "TOKEN_COUNTER",
    "PLACEMENT",
)
PLACEMENTS = ("merged", "prepended", "late")


@dataclass(frozen=True, slots=True)
class Limits:
    """What holds for one agent on one surface."""

    hours_back: float
    max_messages: int
    recent_max_messages: int
    thread_max_messages: int
    token_budget: int | None
    count: Callable[[str], int]  # tokens of a text
    placement: str


def limits(agent: str | None = None, surface: str | None = None) -> Limits:
    """The surface's word counts before the agent's, and that before the site's. Raises ImportError."""
    own = {**_entry(settings.AGENTS, agent), **_entry(settings.SURFACES, surface)}
    said = {name: own.get(name, getattr(settings, name)) for name in NAMES}
    return Limits(
        said["HOURS_BACK"],
        max(0, said["MAX_MESSAGES"]),
        max(0, said["RECENT_MAX_MESSAGES"]),
        max(0, said["THREAD_MAX_MESSAGES"]),
        said["TOKEN_BUDGET"],
        import_string(said["TOKEN_COUNTER"]),
        said["PLACEMENT"],
    )


def _entry(entries: Mapping[str, Mapping[str, Any]], alias: str | None) -> Mapping[str, Any]:
    found: Mapping[str, Any] = entries.get(alias, {}).get("MEMORY", {}) if alias is not None else {}
    return found
