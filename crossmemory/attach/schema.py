"""The protocol as JSON Schema 2020-12, generated: events from the classes of `events.py`, frames from the table here.

The schemas say what is written; a reader ignores types and fields it does not know, so nothing forbids more.
"""

import inspect
import types
import typing
from dataclasses import MISSING, fields
from typing import Annotated, Any, ClassVar, Literal, NotRequired, TypedDict

from crossmemory.attach.frames import Mode
from crossmemory.events import TYPES, ActorType, Data

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Rules:
    """What a schema says beside the type."""

    def __init__(self, **keywords: Any) -> None:
        self.keywords = keywords


Seq = Annotated[int, Rules(minimum=1, exclusiveMaximum=2**53)]
Count = Annotated[int, Rules(minimum=0, exclusiveMaximum=2**53)]
Time = Annotated[str, Rules(pattern=r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")]
ClientId = Annotated[str, Rules(minLength=1, maxLength=128)]
LoggedEvent = Annotated[object, Rules(**{"$ref": "#/$defs/event"})]
RunState = Literal["idle", "queued", "running", "awaiting_approval", "failed"]
Decision = Literal["approved", "denied", "expired", "cancelled"]


class ActorShape(TypedDict):
    """Who did it: a user's key, an agent's alias, or the system."""

    type: ActorType
    id: str


class Reference(TypedDict):
    """An event that is larger than a frame: the URL answers with the event."""

    seq: Seq
    type: str
    ref: str


Gap = TypedDict("Gap", {"from": Literal[2], "to": Seq, "reason": Literal["count", "bytes"]})


class Approval(TypedDict):
    """A tool call that waits for a decision."""

    type: Literal["approval"]
    tool_call: str
    name: str
    title: NotRequired[str | None]
    arguments: NotRequired[Any]  # absent where they are too large: the event has them
    args_hash: str
    expires_at: Time


class Steer(TypedDict):
    """A message, said while the assistant works, that it has not taken yet."""

    type: Literal["steer"]
    message: str


class PartialText(TypedDict):
    """Text so far of a message being written; empty where it is to be asked for."""

    message: str
    text: str


Batch = TypedDict(
    "Batch",
    {
        "v": Literal[1],
        "conversation": str,
        "epoch": str,
        "replay_id": str,
        "mode": Mode,
        "reset": bool,
        "batch": Count,
        "last": bool,
        "from": Seq | None,
        "to": Seq | None,
        "head": Seq,
        "floor": Seq,
        "truncated": bool,
        "gap": Gap | None,
        "events": list[LoggedEvent],
    },
)


class MiddleBatch(Batch):
    """A part of a replay, with more to come."""

    last: Literal[False]  # type: ignore[misc]


class LastBatch(Batch):
    """The last part of a replay, with what is not in the log; from the same snapshot as `head`."""

    last: Literal[True]  # type: ignore[misc]
    run: RunState
    pending: list[Approval | Steer]
    partials: list[PartialText]


class Poll(LastBatch):
    """The same over HTTP: all in one answer, and where to go on."""

    cursor: str
    more: bool


class EventFrame(TypedDict):
    """One logged event, live."""

    epoch: str
    event: LoggedEvent


class Delta(TypedDict):
    """Text appended to a message being written; `offset` counts Unicode code points."""

    message: str
    offset: Count
    text: str


class ServerPing(TypedDict):
    """Are you there? With `n` the server waits for a frame of the client."""

    head: Count
    at: Time
    n: NotRequired[Count]


class Pong(TypedDict):
    """I am here; `n` as asked."""

    n: NotRequired[Count]


class Budget(TypedDict):
    """Little is left of what this person may use today: so many messages, or null where it is tokens or money."""

    messages_left: Count | None
    resets_at: Time


class MessageAck(TypedDict):
    """A sent message is committed."""

    client_id: ClientId
    seq: Seq
    duplicate: bool
    budget: NotRequired[Budget]


class DecisionAck(TypedDict):
    """A decision is committed."""

    tool_call: str
    decision: Literal["approved", "denied"]


class MessageNack(TypedDict):
    """A sent message was not stored; with `over_budget`, when the person's day begins anew."""

    client_id: ClientId
    code: str
    detail: str
    retryable: bool
    resets_at: NotRequired[Time]


class DecisionNack(TypedDict):
    """A decision was not taken; with `already_decided`, who decided what, where and when."""

    tool_call: str
    code: str
    detail: str
    retryable: bool
    decision: NotRequired[Decision | None]
    by: NotRequired[ActorShape | str | None]
    where: NotRequired[str | None]
    at: NotRequired[Time | None]


class Error(TypedDict):
    """A frame that could not be used."""

    code: str
    detail: str
    re: NotRequired[str]


class MessageSend(TypedDict):
    """Repeated with the same `client_id` until acknowledged."""

    client_id: ClientId
    text: str
    parts: NotRequired[list[Any] | None]


class RunStop(TypedDict):
    """Stop the run."""


class ApprovalDecide(TypedDict):
    """Decide a tool call, as it was shown."""

    tool_call: str
    decision: Literal["approved", "denied"]
    args_hash: str


PartialGet = TypedDict("PartialGet", {"message": str, "from": NotRequired[Count]})


class Read(TypedDict):
    """This person has read up to here."""

    seq: Count


#: every frame by its type, with the shapes it may have
SERVER: dict[str, tuple[Any, ...]] = {
    "structured_replay": (MiddleBatch, LastBatch),
    "event": (EventFrame,),
    "delta": (Delta,),
    "ping": (ServerPing,),
    "pong": (Pong,),
    "ack": (MessageAck, DecisionAck),
    "nack": (MessageNack, DecisionNack),
    "error": (Error,),
}
CLIENT: dict[str, tuple[Any, ...]] = {
    "message.send": (MessageSend,),
    "run.stop": (RunStop,),
    "approval.decide": (ApprovalDecide,),
    "partial.get": (PartialGet,),
    "read": (Read,),
    "ping": (Pong,),
    "pong": (Pong,),
}


def document() -> Schema:
    """The whole protocol: `server` and `client` frames, `event`, and `poll`, what HTTP answers."""
    defs: dict[str, Schema] = {f"event.{kind}": _event(data) for kind, data in TYPES.items()}
    defs["event.by_reference"] = of(Reference)
    defs["event"] = _any([f"event.{kind}" for kind in [*TYPES, "by_reference"]])
    for side, table in (("server", SERVER), ("client", CLIENT)):
        for kind, shapes in table.items():
            each = [_typed(kind, of(shape)) for shape in shapes]
            defs[f"{side}.{kind}"] = each[0] if len(each) == 1 else {"anyOf": each}
        defs[side] = _any([f"{side}.{kind}" for kind in table])
    defs["poll"] = _typed("structured_replay", of(Poll))
    return {
        "$schema": DIALECT,
        "title": "crossmemory: the attach protocol, version 1",
        "description": "A reader ignores frames, event types and fields that it does not know.",
        **_any(["server", "client"]),
        "$defs": defs,
    }


def of(hint: Any) -> Schema:
    """The schema of a type hint."""
    if typing.is_typeddict(hint):
        return _object(hint, typing.get_type_hints(hint, include_extras=True), hint.__required_keys__)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return {**of(arguments[0]), **arguments[1].keywords}
    if origin is NotRequired:
        return of(arguments[0])
    if origin is Literal:
        return {"const": arguments[0]} if len(arguments) == 1 else {"enum": list(arguments)}
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [of(each) for each in arguments]}
    if origin is list:
        items = of(arguments[0])
        return {"type": "array", "items": items} if items else {"type": "array"}
    if origin is dict:
        return {"type": "object"}
    return dict(_PLAIN[hint])


_PLAIN: dict[Any, Schema] = {
    Any: {},
    object: {},
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    type(None): {"type": "null"},
}


def _event(data: type[Data]) -> Schema:
    """One event type, as it stands in a batch and in an event frame."""
    hints = typing.get_type_hints(data, include_extras=True)
    hints = {name: hint for name, hint in hints.items() if typing.get_origin(hint) is not ClassVar}
    required = {each.name for each in fields(data) if each.default is MISSING}  # type: ignore[arg-type]
    shape = {
        "seq": of(Seq),
        "type": {"const": data.type},
        "v": {"const": data.v},
        "at": of(Time),
        "actor": of(ActorShape),
        "surface": of(str),
        "run": of(str | None),
        "client_id": of(str | None),
        "data": _object(data, hints, required),
    }
    return {"type": "object", "properties": shape, "required": list(shape)}


def _object(kind: type[Any], hints: dict[str, Any], required: typing.AbstractSet[str]) -> Schema:
    schema: Schema = {"type": "object", "properties": {name: of(hint) for name, hint in hints.items()}}
    text = inspect.cleandoc(kind.__doc__ or "")
    if text and not text.startswith((f"{kind.__name__}(", "dict(")):  # what a dataclass and a TypedDict say by default
        schema["description"] = " ".join(text.split())
    if needed := [name for name in hints if name in required]:
        schema["required"] = needed
    return schema


def _typed(kind: str, schema: Schema) -> Schema:
    """A frame: what it carries, and its type."""
    properties = {"type": {"const": kind}, **schema["properties"]}
    return {**schema, "properties": properties, "required": ["type", *schema.get("required", [])]}


def _any(names: list[str]) -> Schema:
    return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in names]}
