"""What goes into a log, before the database has given it a place."""

import hashlib
import json
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.utils import timezone

from crossmemory.clean import clean, clean_json
from crossmemory.events import Actor, Data, MessageCompleted, RunQueued, SteerAccepted, encode, timestamp
from crossmemory.markup import to_html
from crossmemory.models import Conversation, Message, Run


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A whole message to be stored: a person's words, or an answer that was not streamed."""

    role: Literal["user", "assistant", "system"]
    author: Actor
    text: str
    parts: list[Any] | None = None
    client_id: str | None = None
    sent_at: datetime | None = None
    #: seq of the turn it belongs to; None: it opens its own, or joins the queued run's
    turn: int | None = None
    run: Run | None = None
    saw: dict[str, Any] | None = None
    degraded: bool | None = None
    uid: uuid.UUID = field(default_factory=uuid.uuid4)

    def cleaned(self) -> "NewMessage":
        """The same message with nothing in it that a database refuses."""
        return NewMessage(
            self.role,
            self.author,
            clean(self.text),
            None if self.parts is None else clean_json(self.parts),
            None if self.client_id is None else clean(self.client_id),
            self.sent_at,
            self.turn,
            self.run,
            self.saw,
            self.degraded,
            self.uid,
        )

    @property
    def hash(self) -> str:
        """Tells whether a repeated client_id repeats the body too."""
        body = json.dumps([self.role, self.text, self.parts], sort_keys=True)
        return hashlib.sha256(body.encode()).hexdigest() if self.client_id is not None else ""

    def event(self) -> MessageCompleted:
        return MessageCompleted(
            message=str(self.uid),
            role=self.role,
            text=self.text,
            html=to_html(self.text) if self.role == "assistant" else None,
            parts=self.parts,
            sent_at=timestamp(self.sent_at) if self.sent_at else None,
            saw=self.saw,
            degraded=self.degraded or None,
        )

    def columns(self) -> dict[str, Any]:
        """Values of the Message columns that do not come from the conversation's row."""
        return {
            "uid": self.uid,
            "role": self.role,
            "author_kind": self.author.type,
            "author_id": self.author.id,
            "text": self.text,
            "parts": self.parts,
            "status": Message.Status.COMPLETE,
            "client_id": self.client_id,
            "client_hash": self.hash,
            "run": self.run.pk if self.run else None,
            "sent_at": self.sent_at,
        }


@dataclass(frozen=True, slots=True)
class QueueRun:
    """Asks for an answer: a queued run, unless one is queued already, which the message then joins."""

    agent: str
    destination: dict[str, Any] | None = None
    not_before: datetime | None = None  # it waits until then for what else is being said
    uid: uuid.UUID = field(default_factory=uuid.uuid4)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event to be appended, perhaps about a run or a message that exists."""

    data: Data
    actor: Actor
    run: Run | None = None
    message: Message | None = None
    opens_turn: bool = False
    client_id: str | None = None

    def body(self, conversation: Conversation, at: datetime) -> str:
        return encode(
            self.data,
            at=at,
            actor=self.actor,
            surface=conversation.surface,
            run=str(self.run.uid) if self.run else None,
            client_id=self.client_id,
        )


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a message stands in its log."""

    id: int
    uid: uuid.UUID
    seq: int
    turn: int
    epoch: str
    duplicate: bool = False
    #: the run that was queued for it; None: it joined one, or none was asked for
    run_id: int | None = None


#: stands for the trigger's seq while a run.queued body waits for it
_TRIGGER = '"trigger":0'


def queued_body(conversation: Conversation, queue: QueueRun, actor: Actor, at: datetime) -> tuple[str, str]:
    """The run.queued body before and after the trigger's seq, which only the database knows."""
    body = encode(RunQueued(trigger=0), at=at, actor=actor, surface=conversation.surface, run=str(queue.uid))
    before, after = body.split(_TRIGGER)
    return before + _TRIGGER[:-1], after


def steer_body(conversation: Conversation, message: NewMessage, at: datetime) -> str:
    """The steer.accepted body of a message, should a run be active."""
    data = SteerAccepted(message=str(message.uid))
    return encode(data, at=at, actor=message.author, surface=conversation.surface)


def size(text: str) -> int:
    """Bytes of a text as it is sent."""
    return len(text.encode())


def now() -> datetime:
    return timezone.now()
