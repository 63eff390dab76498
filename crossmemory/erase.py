"""Forgetting: what a message, a conversation or a person left anywhere in the app's tables."""

from typing import Any

from django.db import models, transaction

from crossmemory import broadcast, db, log
from crossmemory.events import Actor
from crossmemory.models import (
    Attachment,
    Conversation,
    DailyUse,
    Delivery,
    Event,
    InboundUpdate,
    LinkCode,
    Message,
    MessageChunk,
    MessageRevision,
    Preference,
    Run,
    SurfaceLink,
    ToolCall,
)


def message(row: Message, actor: Actor) -> None:
    """Redact a message and forget what was still to be sent of it, and the raw update it came from."""
    using = db.write_alias(Message)
    with transaction.atomic(using=using):
        log.redact(row, actor)
        Attachment.objects.using(using).filter(message=row.pk).forget()
        deliveries = Delivery.objects.using(using).filter(message=row.pk)
        deliveries.filter(status="pending").update(status="cancelled")
        deliveries.update(payload={})
        # The update it came as, the other pieces of an album, and its edits.
        came_in = InboundUpdate.objects.using(using)
        came_in.filter(message=row.pk).update(raw=b"")
        if row.client_id:
            names = {"conversation": row.conversation_id, "external_id": row.client_id.rpartition(":")[2]}
            came_in.filter(**names).update(raw=b"")


def conversation(row: Conversation) -> None:
    """Delete a conversation and everything that belongs to it. Clients that follow it are told that it is gone."""
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        _conversations(Conversation.objects.using(using).filter(pk=row.pk), using)
        transaction.on_commit(lambda: broadcast.ring(row.pk), using=using, robust=True)


def person(user_id: Any) -> None:
    """Delete everything of one user, of every tenant and agent."""
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        _conversations(Conversation.objects.using(using).filter(user=user_id), using)
        links = SurfaceLink.objects.using(using).filter(user=user_id)
        _delete(InboundUpdate.objects.using(using).filter(link__in=links), using)
        for model in (SurfaceLink, LinkCode, Preference, DailyUse):
            _delete(model.objects.using(using).filter(user=user_id), using)


def _conversations(rows: models.QuerySet[Conversation], using: str) -> None:
    """Children first, set by set: the database never loads a row, however long the history is."""
    keys = list(rows.select_for_update().values_list("pk", flat=True))
    messages = Message.objects.using(using).filter(conversation__in=keys).values("pk")
    _delete(Delivery.objects.using(using).filter(conversation__in=keys), using)
    _delete(Delivery.objects.using(using).filter(message__in=messages), using)
    came_in = InboundUpdate.objects.using(using).filter(conversation__in=keys)
    Delivery.objects.using(using).filter(inbound__in=came_in.values("pk")).update(inbound=None, payload={})
    _delete(came_in, using)
    for piece in (MessageChunk, MessageRevision):
        _delete(piece.objects.using(using).filter(message__in=messages), using)
    Attachment.objects.using(using).filter(conversation__in=keys).forget()
    for model in (Event, ToolCall, Message, Run):
        _delete(model.objects.using(using).filter(conversation__in=keys), using)
    _delete(Conversation.objects.using(using).filter(pk__in=keys), using)


def _delete(rows: models.QuerySet[Any], using: str) -> None:
    """One DELETE statement: no signals, no collecting; children are the caller's business."""
    rows.order_by()._raw_delete(using)


def forget_deleted_user(sender: type[models.Model], instance: models.Model, **_: Any) -> None:
    """`pre_delete` of the user model or a proxy of it: also when the site deletes the user."""
    person(instance.pk)
