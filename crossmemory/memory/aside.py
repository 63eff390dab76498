"""What a person leaves out of memory in one conversation: a message, a conversation, or a whole surface. It stays where
it was said, and counts everywhere else."""

from dataclasses import dataclass
from typing import Any, Literal

from django.db import transaction
from django.db.models import F, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from crossmemory import db
from crossmemory.conf import primary_surface
from crossmemory.memory import select
from crossmemory.memory.types import Remembered
from crossmemory.models import Conversation, Message, Owner, Preference
from crossmemory.models.message import NEWEST_FIRST

Kind = Literal["surfaces", "conversations", "messages"]
MOST = 500  # of each kind; the oldest messages are forgotten first: the window has left them behind
# Newest messages that are looked at. A person who leaves out where they talk most would else have all of it read.
_LOOKED_AT = 2000


@dataclass(frozen=True, slots=True)
class Aside:
    """Aliases of surfaces, keys of conversations and of messages."""

    surfaces: frozenset[str] = frozenset()
    conversations: frozenset[int] = frozenset()
    messages: frozenset[int] = frozenset()

    @classmethod
    def of(cls, conversation: Conversation) -> "Aside":
        said = conversation.aside or {}
        return cls(*(frozenset(said.get(kind, ())) for kind in ("surfaces", "conversations", "messages")))

    def __bool__(self) -> bool:
        return bool(self.surfaces or self.conversations or self.messages)


def leave_out(conversation: Conversation, kind: Kind, key: str | int, out: bool = True) -> None:
    """Leave something out of memory in this conversation from the next answer on, or (`out` false) let it count again.

    Whether the key is this person's, and not of this conversation itself, is the caller's to know.
    """
    using = db.write_alias(Conversation)
    rows = Conversation.objects.using(using).filter(pk=conversation.pk)
    with transaction.atomic(using=using):
        rows.update(reads=F("reads"))  # locks the row: two switches at once are both kept
        said = rows.values_list("aside", flat=True).get() or {}
        keys = {*said.get(kind, ()), key} if out else {*said.get(kind, ())} - {key}
        said = {name: kept for name, kept in {**said, kind: sorted(keys)[-MOST:]}.items() if kept}
        rows.update(aside=said or None)
    conversation.aside = said or None


def counting(conversation: Conversation, owner: Owner, limit: int, *, secondary: bool = False) -> list[Remembered]:
    """The newest `limit` remembered messages but those left out here; ascending. `secondary`: only of such surfaces."""
    rows = _looked_at(owner, secondary).filter(~_left_out(conversation) | Q(conversation=conversation.pk))
    return _newest(rows, limit)


def left_out(conversation: Conversation, owner: Owner, limit: int, *, secondary: bool = False) -> list[Remembered]:
    """The newest `limit` that would be remembered, were they not left out here; ascending."""
    if not Aside.of(conversation) or not conversation.reads:
        return []
    rows = _looked_at(owner, secondary).filter(_left_out(conversation)).exclude(conversation=conversation.pk)
    return _newest(rows, limit)


def _left_out(conversation: Conversation) -> Q:
    aside = Aside.of(conversation)
    return (
        Q(conversation__surface__in=aside.surfaces) | Q(conversation__in=aside.conversations) | Q(pk__in=aside.messages)
    )


def _looked_at(owner: Owner, secondary: bool) -> QuerySet[Message]:
    using = db.write_alias(Message)
    messages = Message.objects.using(using)
    boundary = Preference.objects.using(using).of(owner).values("boundary")[:1]
    fresh = (
        messages.of(owner)
        .filter(shared=True, status=Message.Status.COMPLETE)
        .annotate(newest=NEWEST_FIRST)
        .filter(newest__lt=Coalesce(Subquery(boundary), Value(0)) * -1)
        .order_by("newest")
    )
    rows: QuerySet[Message] = messages.filter(pk__in=fresh.values("pk")[:_LOOKED_AT])
    if secondary:
        rows = rows.filter(conversation__singleton=True).exclude(conversation__surface=primary_surface())
    return rows


def _newest(rows: QuerySet[Message], limit: int) -> list[Remembered]:
    found: Any = (
        rows.annotate(newest=NEWEST_FIRST)
        .order_by("newest")
        .values_list(*select.COLUMNS, "conversation__surface")[:limit]
    )
    return select.made(reversed(found))
