"""What people say enters the log, with the run that will answer it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from crossmemory import attachments, budget, db, log, permission, runs, turns
from crossmemory.conf import settings
from crossmemory.events import Actor
from crossmemory.exceptions import ReadOnlyHere
from crossmemory.log import NewMessage, QueueRun, Stored
from crossmemory.models import Conversation, Message, Owner
from crossmemory.surfaces import surfaces


@dataclass(frozen=True, slots=True)
class Said(Stored):
    """A message in its log, and what its person has used today where that is limited; None for a repeated one."""

    used: budget.Used | None = None


def say(
    conversation: Conversation,
    text: str,
    *,
    author: Actor,
    client_id: str | None = None,
    sent_at: datetime | None = None,
    parts: list[Any] | None = None,
    destination: Mapping[str, Any] | None = None,
    quiet: float = 0,
) -> Said:
    """Store a person's message with the run that will answer it, and wake a runner on commit.

    During a run the message waits and is answered after it. `destination` is where the answer goes besides the log.
    The answer waits `quiet` seconds for what else is being said, which then belongs to the same turn.
    A part that names a file (`{"attachment": id}`) takes that file along.
    Raises EmptyText, TextTooLong, Conflict, NotFound, AttachmentError, TooManyFiles, AgentNotAllowed, OverBudget.
    """
    whole = attachments.completed(conversation, parts)
    message = NewMessage("user", author, text, client_id=client_id, sent_at=sent_at, parts=whole)
    return _store(conversation, message, destination, quiet)


asay = db.twin(say)


def say_on_the_page(conversation: Conversation, text: str, *, author: Actor, client_id: str, parts: Any) -> Said:
    """A message from a client of the web, its `parts` as they were sent: they may name files, nothing else.

    Raises what `say` raises, ReadOnlyHere on a secondary surface's conversation, Invalid.
    """
    if not surfaces[conversation.surface].primary:
        raise ReadOnlyHere
    whole = attachments.completed(conversation, attachments.asked(parts))
    text = attachments.worded(whole, text)
    return _store(conversation, NewMessage("user", author, text, client_id=client_id, parts=whole))


def _store(
    conversation: Conversation,
    message: NewMessage,
    destination: Mapping[str, Any] | None = None,
    quiet: float = 0,
) -> Said:
    """What `say` does once the message is whole."""
    permission.check_conversation(conversation)
    not_before = timezone.now() + timedelta(seconds=quiet) if quiet else None
    queue = QueueRun(conversation.agent, dict(destination) if destination else None, not_before)
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    limited, used = bool(budget.limits_of(owner.agent)), None
    if not limited and not attachments.named(message.parts):
        stored = log.append_message(conversation, message, queue)  # one statement is its own transaction
    else:
        with transaction.atomic(using=db.write_alias(Message)):
            stored = log.append_message(conversation, message, queue)
            if not stored.duplicate:
                attachments.take(stored.id, message.parts)
                used = budget.count_message(owner)
    if not stored.duplicate:
        if quiet and stored.run_id is None:
            turns.wait_for_more(conversation, quiet, settings.QUIET_MAX_SECONDS)
        transaction.on_commit(
            partial(runs.wake, quiet) if quiet else runs.wake, using=db.write_alias(Message), robust=True
        )
    return Said(**asdict(stored), used=used)
