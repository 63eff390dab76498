"""The event types of the log, version 1: one class per type, its fields the event's `data`.

Strict when writing: a class refuses unknown fields and wrong types. Tolerant when reading: what a client or a later
version does not know, it ignores. Types and fields are added, never changed (invariant "additive protocol").
"""

import json
import types
import typing
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, Literal, dataclass_transform

from crossmemory.clean import clean_json
from crossmemory.exceptions import UnknownEvent

Role = Literal["user", "assistant", "system"]

TYPES: dict[str, type["Data"]] = {}


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Data:
    """The `data` of one event type. Values are JSON; ids are strings; times are ISO 8601 in UTC."""

    type: ClassVar[str]
    v: ClassVar[int] = 1

    def __init_subclass__(cls, *, type: str, v: int = 1) -> None:
        dataclass(frozen=True, kw_only=True)(cls)
        cls.type, cls.v = type, v
        TYPES[type] = cls

    def __post_init__(self) -> None:
        for name, hint in _hints(self.type).items():
            value = getattr(self, name)
            if not _fits(value, hint):
                raise UnknownEvent(f"{self.type}: {name}={value!r} is not {hint}.")

    def as_json(self) -> dict[str, Any]:
        """The fields that say something: an absent one is null."""
        named = ((field.name, getattr(self, field.name)) for field in fields(self))  # type: ignore[arg-type]
        return {name: value for name, value in named if value is not None}


@cache
def _hints(kind: str) -> dict[str, Any]:
    hints = typing.get_type_hints(TYPES[kind])
    return {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not ClassVar}


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(_fits(value, each) for each in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin is not None:
        return isinstance(value, origin)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


class ConversationCreated(Data, type="conversation.created"):
    """The anchor: event 1 of every log, never dropped."""

    agent: str
    surface: str
    title: str
    created_at: str
    shared: bool = True


class ConversationRenamed(Data, type="conversation.renamed"):
    title: str


class MessageStarted(Data, type="message.started"):
    """An answer begins; its text follows as deltas, then `message.completed` or `message.interrupted`."""

    message: str
    role: Role = "assistant"
    saw: dict[str, Any] | None = None


class MessageCompleted(Data, type="message.completed"):
    """A whole message: a person's words the moment they are stored, or a finished answer.

    `html` is the answer's Markdown rendered and sanitised by the server; `saw` sums up what the assistant saw;
    `degraded` says that earlier messages could not be read for it.
    """

    message: str
    role: Role
    text: str
    html: str | None = None
    parts: list[Any] | None = None
    sent_at: str | None = None
    saw: dict[str, Any] | None = None
    degraded: bool | None = None


class MessageInterrupted(Data, type="message.interrupted"):
    """An answer that will not be finished; `text` is what was written."""

    message: str
    text: str
    html: str | None = None
    reason: Literal["stopped", "failed", "abandoned"]


class MessageEdited(Data, type="message.edited"):
    message: str
    text: str
    html: str | None = None
    parts: list[Any] | None = None  # where they changed too


class MessageRedacted(Data, type="message.redacted"):
    """The text is gone from the log; the epoch changed with it."""

    message: str


class MemoryBoundary(Data, type="memory.boundary"):
    """`/new`: memory starts afresh after this event."""


class SteerAccepted(Data, type="steer.accepted"):
    message: str


class SteerConsumed(Data, type="steer.consumed"):
    message: str


class SteerPromoted(Data, type="steer.promoted"):
    message: str


class SteerExpired(Data, type="steer.expired"):
    message: str


class RunQueued(Data, type="run.queued"):
    """`trigger` is the seq of the message that asks for an answer."""

    trigger: int


class RunStarted(Data, type="run.started"):
    attempt: int


class RunCompleted(Data, type="run.completed"):
    message: str | None = None


class RunFailed(Data, type="run.failed"):
    """`detail` is a line for the person; what went wrong in full stands in the admin."""

    code: str
    detail: str = ""


class RunStopped(Data, type="run.stopped"):
    by: Literal["user", "staff", "system"] = "user"


class RunAbandoned(Data, type="run.abandoned"):
    """The process that wrote the answer died after something was shown."""


class ToolCalled(Data, type="tool.called"):
    tool_call: str
    name: str
    arguments: Any = None


class ToolCompleted(Data, type="tool.completed"):
    tool_call: str
    result: Any = None


class ToolFailed(Data, type="tool.failed"):
    tool_call: str
    error: str


class ApprovalRequested(Data, type="approval.requested"):
    """The agent wants to use a tool. `args_hash` names exactly the arguments that are shown, and decided about."""

    tool_call: str
    name: str
    title: str | None = None
    arguments: Any = None
    args_hash: str
    expires_at: str


class ApprovalDecided(Data, type="approval.decided"):
    """Decided, once; the event's actor says by whom, `where` on which surface."""

    tool_call: str
    decision: Literal["approved", "denied", "expired", "cancelled"]
    where: str | None = None


class DeliveryFailed(Data, type="delivery.failed"):
    """A message could not be delivered to the surface where it was asked for."""

    message: str
    surface: str
    error: str


class TakeoverStarted(Data, type="takeover.started"):
    pass


class TakeoverEnded(Data, type="takeover.ended"):
    pass


ActorType = Literal["user", "agent", "staff", "system"]


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it: a person's or staff member's user key, an agent's alias, or the system."""

    type: ActorType
    id: str = ""


SYSTEM = Actor("system")


def timestamp(moment: datetime) -> str:
    """ISO 8601 in UTC with microseconds and `Z`."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def encode(
    data: Data,
    *,
    at: datetime,
    actor: Actor,
    surface: str,
    run: str | None = None,
    client_id: str | None = None,
) -> str:
    """The event as JSON text without its seq, which only the database knows: `wire` adds it."""
    body = {
        "type": data.type,
        "v": data.v,
        "at": timestamp(at),
        "actor": {"type": actor.type, "id": actor.id},
        "surface": surface,
        "run": run,
        "client_id": client_id,
        "data": clean_json(data.as_json()),
    }
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def wire(seq: int, body: str) -> str:
    """A stored body as it goes to clients: the same text, opened by its seq."""
    return f'{{"seq":{seq},{body[1:]}'
