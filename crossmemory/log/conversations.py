"""Conversations: made with their anchor, renamed, kept out of memory, opened afresh."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from django.utils.translation import gettext as _

from crossmemory import db
from crossmemory.clean import clean
from crossmemory.events import (
    SYSTEM,
    Actor,
    ConversationCreated,
    ConversationRenamed,
    MemoryBoundary,
    encode,
    timestamp,
)
from crossmemory.exceptions import Invalid
from crossmemory.log.entries import Entry, size
from crossmemory.log.writer import append
from crossmemory.models import Conversation, Event, Message, Owner, Preference
from crossmemory.models.guard import log_writes

TITLE_LENGTH = 200


def create(
    owner: Owner,
    surface: str,
    title: str = "",
    *,
    singleton: bool = False,
    shared: bool = True,
    reads: bool = True,
    group_chat: bool = False,
    actor: Actor = SYSTEM,
) -> Conversation:
    """A new conversation with its anchor, event 1. Raises IntegrityError when a singleton exists already.

    One in a group is apart from memory whatever `shared` and `reads` say.
    """
    if owner.agent is None:
        raise ValueError("A conversation is with one agent: name it.")
    at = timezone.now()
    conversation = Conversation(
        user_id=owner.user_id,
        tenant=owner.tenant,
        agent=owner.agent,
        surface=surface,
        title=checked_title(title, singleton=singleton),
        singleton=singleton,
        shared=shared and not group_chat,
        reads=reads and not group_chat,
        group_chat=group_chat,
        created_at=at,
        updated_at=at,
        head=1,
        kept_events=1,
    )
    anchor = ConversationCreated(
        agent=owner.agent,
        surface=surface,
        title=conversation.title,
        created_at=timestamp(at),
        shared=conversation.shared,
    )
    body = encode(anchor, at=at, actor=actor, surface=surface)
    conversation.kept_bytes = size(body)
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using), log_writes():
        conversation.save(using=using, force_insert=True)
        Event.objects.using(using).create(
            conversation=conversation, seq=1, type=anchor.type, body=body, bytes=size(body), created_at=at
        )
    return conversation


def get_or_create_singleton(owner: Owner, surface: str, title: str, **defaults: Any) -> Conversation:
    """The one conversation of a secondary surface; racing callers get the same row."""
    mine = Conversation.objects.using(db.write_alias(Conversation)).of(owner).filter(surface=surface, singleton=True)
    found = mine.first()
    if found is None:
        try:
            found = create(owner, surface, title, singleton=True, **defaults)
        except IntegrityError:
            found = mine.get()
    return found


def checked_title(title: str, *, singleton: bool = False) -> str:
    """A title as it is stored. Raises Invalid: people cannot take the titles in […] that surfaces have."""
    title = clean(" ".join(title.split()))
    if len(title) > TITLE_LENGTH:
        raise Invalid(_("A title has at most %(most)d characters.") % {"most": TITLE_LENGTH})
    if not singleton and title.startswith("[") and title.endswith("]"):
        raise Invalid(_("Titles in […] belong to surfaces such as [Telegram]: choose another."))
    return title


def rename(conversation: Conversation, title: str, actor: Actor) -> None:
    """Give a conversation another title, as an event. Raises Invalid."""
    if conversation.singleton:
        raise Invalid(_("The conversation of a surface keeps its title."))
    title = checked_title(title)
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        append(conversation, [Entry(ConversationRenamed(title=title), actor)])
        Conversation.objects.using(using).filter(pk=conversation.pk).update(title=title)
    conversation.title = title


def set_shared(conversation: Conversation, shared: bool) -> None:
    """Let a conversation feed memory or keep it out, with all that was said in it. Raises Invalid for a group's."""
    _apart(conversation, shared)
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        Conversation.objects.using(using).filter(pk=conversation.pk).update(shared=shared)
        with log_writes():
            Message.objects.using(using).filter(conversation=conversation.pk).exclude(shared=shared).update(
                shared=shared
            )
    conversation.shared = shared


def set_reads(conversation: Conversation, reads: bool) -> None:
    """Let the assistant know here what was said in other conversations, or not. Raises Invalid for a group's."""
    _apart(conversation, reads)
    Conversation.objects.using(db.write_alias(Conversation)).filter(pk=conversation.pk).update(reads=reads)
    conversation.reads = reads


def mark_read(conversation: Conversation, seq: int) -> int:
    """The person has read up to `seq`; never moves backwards or past the head. Returns where it stands now."""
    using = db.write_alias(Conversation)
    rows = Conversation.objects.using(using).filter(pk=conversation.pk)
    rows.filter(read_seq__lt=seq, head__gte=seq).update(read_seq=seq)
    return rows.values_list("read_seq", flat=True).get()


def open_afresh_everywhere(conversation: Conversation, actor: Actor) -> None:
    """The same for all the person's conversations: what was said before is no longer brought up in another one."""
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        open_afresh(conversation, actor)
        preference, _made = Preference.objects.using(using).get_or_create(
            user_id=conversation.user_id, tenant=conversation.tenant
        )
        person = Owner(conversation.user_id, conversation.tenant, None)
        newest = Message.objects.using(using).of(person).aggregate(Max("id"))["id__max"] or 0
        Preference.objects.using(using).filter(pk=preference.pk).update(boundary=newest)
        mine = Conversation.objects.using(using).of(person)
        for other in mine.filter(singleton=True).exclude(pk=conversation.pk).order_by("pk"):
            open_afresh(other, actor)


def open_afresh(conversation: Conversation, actor: Actor) -> None:
    """`/new`: memory in this conversation starts after now, as an event."""
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        append(conversation, [Entry(MemoryBoundary(), actor)])
        owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
        newest = Message.objects.using(using).of(owner).aggregate(Max("id"))["id__max"] or 0
        Conversation.objects.using(using).filter(pk=conversation.pk).update(boundary=newest)
    conversation.boundary = newest


def _apart(conversation: Conversation, wanted: bool) -> None:
    if wanted and conversation.group_chat:
        raise Invalid(_("What is said in a group stays there, and what is said elsewhere is not known there."))
