"""Redacting: the words of one message leave the log and every body that held them."""

import json

from django.db import transaction

from crossmemory import db
from crossmemory.events import Actor, MessageRedacted, SteerExpired
from crossmemory.log.entries import Entry, size
from crossmemory.log.writer import append
from crossmemory.models import Conversation, Event, Message, MessageChunk, MessageRevision
from crossmemory.models.conversation import new_epoch
from crossmemory.models.guard import log_writes

_WORDS = ("text", "html", "parts")


def redact(message: Message, actor: Actor) -> None:
    """Take the words out of a message, its revisions and its events, and say so with `message.redacted`.

    The epoch changes, so that every client drops what it holds and rebuilds. Twice is the same as once.
    """
    using = db.write_alias(Message)
    with transaction.atomic(using=using):
        entries = [Entry(MessageRedacted(message=str(message.uid)), actor, message=message)]
        if message.steer == Message.Steer.ACCEPTED:  # nobody will answer it any more
            entries.append(Entry(SteerExpired(message=str(message.uid)), actor, message=message))
        append(message.conversation, entries)
        events = Event.objects.using(using).filter(conversation=message.conversation_id, message=message.pk)
        smaller = 0
        with log_writes():
            for event in events:
                body = json.loads(event.body)
                held = [body["data"].pop(name) for name in _WORDS if name in body["data"]]
                if not held:
                    continue
                body["data"]["text"] = ""
                text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
                smaller += event.bytes - size(text)
                events.filter(pk=event.pk).update(body=text, bytes=size(text))
            MessageChunk.objects.using(using).filter(message=message.pk).delete()
            MessageRevision.objects.using(using).filter(message=message.pk).delete()
            Message.objects.using(using).filter(pk=message.pk).update(
                text="", parts=None, client_hash="", status=Message.Status.REDACTED
            )
            waiting = Message.objects.using(using).filter(pk=message.pk, steer=Message.Steer.ACCEPTED)
            waiting.update(steer=Message.Steer.EXPIRED)
        conversation = Conversation.objects.using(using).get(pk=message.conversation_id)
        conversation.epoch = new_epoch()
        conversation.kept_bytes -= smaller
        conversation.save(using=using, update_fields=["epoch", "kept_bytes"])
    message.text, message.parts, message.status = "", None, Message.Status.REDACTED
