"""Editing: a message gets another text; the earlier one is kept for a while, and leaves the agent's context."""

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from crossmemory import db
from crossmemory.clean import clean, clean_json
from crossmemory.conf import settings
from crossmemory.events import Actor, MessageEdited
from crossmemory.log.entries import Entry
from crossmemory.log.writer import append, check_text
from crossmemory.models import Message, MessageRevision
from crossmemory.models.guard import log_writes


def edit(message: Message, text: str, actor: Actor, parts: list[Any] | None = None) -> bool:
    """Replace the text of a complete message, and its parts if new ones are given, as `message.edited`.

    The same again changes nothing; returns whether anything changed. Raises EmptyText, TextTooLong.
    """
    text = clean(text)
    check_text(text)
    parts = None if parts is None or parts == message.parts else clean_json(parts)
    if text == message.text and parts is None:
        return False
    using = db.write_alias(Message)
    with transaction.atomic(using=using):
        edited = MessageEdited(message=str(message.uid), text=text, parts=parts)
        append(message.conversation, [Entry(edited, actor, message=message)])
        with log_writes():
            MessageRevision.objects.using(using).create(
                message=message,
                text=message.text,
                expires_at=timezone.now() + timedelta(days=settings.REVISION_DAYS),
            )
            changed = {"text": text} if parts is None else {"text": text, "parts": parts}
            Message.objects.using(using).filter(pk=message.pk).update(**changed)
    message.text, message.parts = text, message.parts if parts is None else parts
    return True
