"""Memory: what the model sees. Every function takes the user; none can be called without one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.utils import timezone

from crossmemory import db, log
from crossmemory.clean import clean
from crossmemory.conf import primary_surface, surface_label
from crossmemory.events import Actor
from crossmemory.log import NewMessage, Stored
from crossmemory.memory import beside, repair, select, window
from crossmemory.memory.aside import Aside, leave_out
from crossmemory.memory.beside import ROLES as _ROLES
from crossmemory.memory.context import abuild_context, aleft_out_here, build_context, left_out_here, without_history
from crossmemory.memory.limits import limits
from crossmemory.memory.render import frame, history, turns
from crossmemory.memory.searching import Found, asearch, search
from crossmemory.memory.types import (
    Block,
    Call,
    Context,
    File,
    LeftOut,
    Manifest,
    Picture,
    Remembered,
    Result,
    ToolUsed,
    Turn,
    Words,
)
from crossmemory.models import DEFAULT_AGENT, Conversation, Owner


def get_singleton(user: AbstractBaseUser, surface: str, agent: str = DEFAULT_AGENT) -> Conversation:
    """The one conversation of a secondary surface, titled `[Telegram]`; made on first use, races end as one row."""
    return log.get_or_create_singleton(Owner.of(user, agent), surface, f"[{surface_label(surface)}]")


def load_cross_context(
    user: AbstractBaseUser,
    agent: str = DEFAULT_AGENT,
    hours_back: float | None = None,
    max_messages: int | None = None,
) -> list[Remembered]:
    """The newest messages of all the user's conversations inside the window, ascending.

    What a secondary surface uses. One query, whose cost does not grow with the history.
    """
    most = limits(agent)
    count = max(0, most.max_messages if max_messages is None else max_messages)
    return select.newest(Owner.of(user, agent), _since(most.hours_back if hours_back is None else hours_back), count)


def load_surface_recent(
    user: AbstractBaseUser,
    surfaces: Sequence[str] | None = None,
    agent: str = DEFAULT_AGENT,
    hours_back: float | None = None,
    max_messages: int | None = None,
) -> list[Remembered]:
    """The newest messages of the secondary surfaces (all, or those named) inside the window, ascending.

    What the primary surface adds to its own thread.
    """
    most = limits(agent, primary_surface())
    count = max(0, most.recent_max_messages if max_messages is None else max_messages)
    since = _since(most.hours_back if hours_back is None else hours_back)
    found = select.elsewhere(Owner.of(user, agent), surfaces, count)
    return [message for message in found if message.at >= since]


def prepend_recent(
    history: Sequence[Mapping[str, Any]],
    user: AbstractBaseUser,
    surfaces: Sequence[str] | None = None,
    agent: str = DEFAULT_AGENT,
    hours_back: float | None = None,
    max_messages: int | None = None,
) -> list[dict[str, Any]]:
    """`history` (`{"role", "content"}`, perhaps `"id"`) with the recent messages of other surfaces before it.

    For a site whose front end sends its own history. A message is left out only when the history has it: by id
    where it carries ids, else where both sequences align. A second "yes" stays a second yes.
    """
    recent, _duplicates = beside.missing(load_surface_recent(user, surfaces, agent, hours_back, max_messages), history)
    added = [
        {"role": message.role, "content": message.text, "id": message.id, "surface": message.surface}
        for message in recent
    ]
    return [*added, *(dict(entry) for entry in history)]


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """Where the two messages of a recorded turn stand."""

    user: Stored
    assistant: Stored


def record(
    user: AbstractBaseUser,
    surface: str,
    role: str,
    text: str,
    *,
    conversation: Conversation | None = None,
    agent: str = DEFAULT_AGENT,
    client_id: str | None = None,
    external_id: str | None = None,
    sent_at: datetime | None = None,
    turn: int | None = None,
) -> Stored:
    """Store one message of a site's own bot or model call, into the right conversation; no run is started.

    A secondary surface has its singleton; on the primary one `conversation` says which. Idempotent by `client_id`
    or `external_id`. `model` is accepted for `assistant`. Raises ValueError, EmptyText, TextTooLong, Conflict.
    """
    owner = Owner.of(user, agent)
    if role not in _ROLES:
        raise ValueError(f"role={role!r} is none of {', '.join(_ROLES)}.")
    if conversation is None:
        if surface == primary_surface():
            raise ValueError("On the primary surface a person has many conversations: pass one.")
        conversation = get_singleton(user, surface, agent)
    elif (conversation.user_id, conversation.tenant, conversation.agent) != (owner.user_id, owner.tenant, owner.agent):
        raise ValueError("This conversation belongs to somebody else.")
    role_ = _ROLES[role]
    author = Actor("user", str(user.pk)) if role_ == "user" else Actor("agent", agent)
    key = client_id if client_id is not None else external_id and f"external:{external_id}"
    stored = log.append_message(
        conversation, NewMessage(role_, author, clean(text), client_id=key, sent_at=sent_at, turn=turn)
    )
    log.trim(conversation.pk)
    return stored


def record_turn(
    user: AbstractBaseUser,
    surface: str,
    user_text: str,
    assistant_text: str,
    *,
    conversation: Conversation | None = None,
    agent: str = DEFAULT_AGENT,
    client_id: str | None = None,
) -> RecordedTurn:
    """Store a question and its answer. `client_id` names the turn: repeated, nothing is stored twice."""
    asked = record(user, surface, "user", user_text, conversation=conversation, agent=agent, client_id=client_id)
    answer_id = None if client_id is None else f"{client_id}:answer"
    answered = record(
        user,
        surface,
        "assistant",
        assistant_text,
        conversation=conversation,
        agent=agent,
        client_id=answer_id,
        turn=asked.seq,
    )
    return RecordedTurn(asked, answered)


def _since(hours_back: float) -> datetime:
    return timezone.now() - timedelta(hours=hours_back)


aleave_out = db.twin(leave_out)
aget_singleton = db.twin(get_singleton)
aload_cross_context = db.twin(load_cross_context)
aload_surface_recent = db.twin(load_surface_recent)
aprepend_recent = db.twin(prepend_recent)
arecord = db.twin(record)
arecord_turn = db.twin(record_turn)

__all__ = [
    "Aside",
    "Block",
    "Call",
    "Context",
    "File",
    "Found",
    "LeftOut",
    "Manifest",
    "Picture",
    "RecordedTurn",
    "Remembered",
    "Result",
    "Stored",
    "ToolUsed",
    "Turn",
    "Words",
    "abuild_context",
    "aget_singleton",
    "aleave_out",
    "aleft_out_here",
    "aload_cross_context",
    "aload_surface_recent",
    "aprepend_recent",
    "arecord",
    "arecord_turn",
    "asearch",
    "build_context",
    "frame",
    "get_singleton",
    "history",
    "leave_out",
    "left_out_here",
    "load_cross_context",
    "load_surface_recent",
    "prepend_recent",
    "record",
    "record_turn",
    "repair",
    "search",
    "turns",
    "window",
    "without_history",
]
