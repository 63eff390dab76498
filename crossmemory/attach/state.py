"""What a client knows of a conversation, and the entries in it. See `fold` for how it comes about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Item = Mapping[str, Any]  # a message, a tool call or a notice; replaced, never changed in place
Event = Mapping[str, Any]

SOME_RUN = "?"  # a run that is known to be active although its id is not


@dataclass(frozen=True, slots=True)
class State:
    """What a client knows of a conversation."""

    epoch: str | None = None
    seq: int = 0
    head: int = 0
    floor: int = 1
    title: str = ""
    agent: str = ""
    surface: str = ""
    created_at: str | None = None
    items: tuple[Item, ...] = ()
    run: str = "idle"  # idle, queued, running, awaiting_approval, failed
    active: str | None = None
    queued: str | None = None
    waiting: bool = False
    failed: bool = False
    pending: tuple[Mapping[str, Any], ...] = ()  # of the envelope: what was open at its head
    gap: Mapping[str, Any] | None = None

    @property
    def cursor(self) -> str:
        """`epoch:seq`; empty when nothing is held."""
        return f"{self.epoch}:{self.seq}" if self.epoch is not None and self.seq else ""


@dataclass(slots=True)
class Draft:
    """A state that one fold may change."""

    state: State
    items: list[Item]
    values: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name] if name in self.values else getattr(self.state, name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.values[name] = value


def find(items: Sequence[Item], kind: str, uid: str) -> int:
    """The place of an item, searched from the end, where the changes are; -1 when unknown."""
    for index in range(len(items) - 1, -1, -1):
        if items[index]["kind"] == kind and items[index]["id"] == uid:
            return index
    return -1


def put(draft: Draft, blank: Item, changes: Mapping[str, Any]) -> None:
    """Change an item, making it when the event is the first to name it."""
    at = find(draft.items, blank["kind"], blank["id"])
    item = {**(blank if at < 0 else draft.items[at]), **changes}
    if "text" in changes:
        item["length"] = len(item["text"])
    if at < 0:
        draft.items.append(item)
    else:
        draft.items[at] = item


def message(event: Event, data: Mapping[str, Any]) -> Item:
    uid = str(data.get("message"))
    return {
        "kind": "message",
        "key": uid,
        "id": uid,
        "seq": event["seq"],
        "role": data.get("role") or "assistant",
        "text": "",
        "length": 0,
        "html": None,
        "parts": data.get("parts"),
        "status": "complete",
        "reason": None,
        "actor": event.get("actor"),
        "surface": event.get("surface"),
        "client_id": event.get("client_id"),
        "run": event.get("run"),
        "saw": data.get("saw"),
        "degraded": False,
        "edited": False,
        "steer": None,
        "undelivered": None,
        "at": event.get("at"),
        "sent_at": data.get("sent_at"),
    }


def tool(event: Event, data: Mapping[str, Any]) -> Item:
    uid = str(data.get("tool_call"))
    return {
        "kind": "tool",
        "key": f"tool-{uid}",
        "id": uid,
        "seq": event["seq"],
        "name": "",
        "title": None,
        "arguments": None,
        "status": "called",
        "error": None,
        "run": event.get("run"),
        "at": event.get("at"),
        "approval": None,
    }
