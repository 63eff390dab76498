"""Appending: the only way anything enters a conversation's log."""

from collections.abc import Sequence
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import TransactionManagementError
from django.utils.translation import gettext as _

from crossmemory import broadcast, db
from crossmemory.conf import settings
from crossmemory.events import encode
from crossmemory.exceptions import Conflict, EmptyText, TextTooLong
from crossmemory.log import counter, statement
from crossmemory.log.counter import Pointers
from crossmemory.log.entries import Entry, NewMessage, QueueRun, Stored, now, queued_body, size, steer_body
from crossmemory.models import Conversation, Event, Message, Run
from crossmemory.models.guard import log_writes


def append_message(conversation: Conversation, message: NewMessage, queue: QueueRun | None = None) -> Stored:
    """Store one whole message, its event and, if asked, the queued run that will answer it; then ring.

    A repeated `client_id` with the same body answers with the message stored first (`duplicate`). Works outside and
    inside transactions; the ring waits for the commit.

    Raises EmptyText, TextTooLong (a person's text over MAX_TEXT_BYTES), Conflict, NotFound.
    """
    message = message.cleaned()
    if message.role == "user":
        check_text(message.text, may_be_empty=bool(message.parts))
    connection = db.connection_for(Message)
    at = now()
    body = encode(
        message.event(),
        at=at,
        actor=message.author,
        surface=conversation.surface,
        run=str(message.run.uid) if message.run else None,
        client_id=message.client_id,
    )
    write = statement.append_message if connection.vendor == "postgresql" else _append_message
    try:
        # Alone, one statement is its own transaction; in somebody's transaction a savepoint keeps that one usable.
        if connection.in_atomic_block or connection.vendor != "postgresql":
            with transaction.atomic(using=connection.alias):
                stored = write(connection, conversation, message, body, queue, at)
        else:
            stored = write(connection, conversation, message, body, queue, at)
    except IntegrityError:
        earlier = _stored_before(conversation, message)
        if earlier is None:
            raise
        return earlier
    ring_on_commit(conversation.pk, connection)
    return stored


aappend_message = db.twin(append_message)


def append(conversation: Conversation, entries: Sequence[Entry], pointers: Pointers | None = None) -> list[int]:
    """Append events inside the caller's transaction, whose first statement this should be; ring on commit.

    An entry about an unsaved message gives that message its place in the log. `pointers` change with the events:
    which seq the queued run and the active one answer. Returns the seqs. Raises NotFound.
    """
    connection = db.connection_for(Event)
    if not connection.in_atomic_block:
        raise TransactionManagementError("append() belongs inside transaction.atomic().")
    at = now()
    bodies = [entry.body(conversation, at) for entry in entries]
    moved = counter.move(connection, conversation.pk, len(entries), sum(map(size, bodies)), at, pointers or {})
    first = moved.head - len(entries) + 1
    events = []
    with log_writes():
        for seq, entry, body in zip(range(first, moved.head + 1), entries, bodies, strict=True):
            if entry.message is not None and entry.message.pk is None:
                entry.message.seq, entry.message.shared = seq, moved.shared
                entry.message.save(using=connection.alias, force_insert=True)
            run = entry.run.pk if entry.run else None
            message = entry.message.pk if entry.message else None
            events.append(
                _event(conversation.pk, seq, entry.data.type, body, at, run, message, opens_turn=entry.opens_turn)
            )
        Event.objects.using(connection.alias).bulk_create(events)
    ring_on_commit(conversation.pk, connection)
    return [event.seq for event in events]


def ring_on_commit(conversation_id: int, connection: BaseDatabaseWrapper) -> None:
    """Ring when what was written is committed; at once when it is already."""
    transaction.on_commit(lambda: broadcast.ring(conversation_id), using=connection.alias, robust=True)


def check_text(text: str, *, may_be_empty: bool = False) -> None:
    """Whether a person's text can be stored. Raises EmptyText, TextTooLong."""
    if not may_be_empty and not text.strip():
        raise EmptyText
    if (length := size(text)) > settings.MAX_TEXT_BYTES:
        raise TextTooLong(
            _("The message is too long: %(length)s bytes, %(most)s are possible.")
            % {"length": f"{length:,}", "most": f"{settings.MAX_TEXT_BYTES:,}"}
        )


def _append_message(
    connection: BaseDatabaseWrapper,
    conversation: Conversation,
    message: NewMessage,
    body: str,
    queue: QueueRun | None,
    at: datetime,
) -> Stored:
    """The same as the one statement of PostgreSQL, as a few: SQLite cannot write inside a WITH."""
    using = connection.alias
    steers = False
    if queue is None:
        moved = counter.move(connection, conversation.pk, 1, size(body), at, {})
        seq, turn = moved.head, message.turn or moved.head
    else:
        before, after = queued_body(conversation, queue, message.author, at)
        steer = steer_body(conversation, message, at)
        sizes = (size(body), size(steer), size(before) + size(after))
        moved = counter.move_and_queue(connection, conversation.pk, sizes, at)
        seq = moved.head - 1 if moved.steers or moved.queued_now else moved.head
        turn = moved.active_seq or moved.queued_seq or seq
        steers = moved.steers
    columns = message.columns()
    columns["run_id"] = columns.pop("run")
    row = Message(
        conversation_id=conversation.pk,
        owner_id=moved.user_id,
        tenant=moved.tenant,
        agent=moved.agent,
        shared=moved.shared,
        seq=seq,
        turn=turn,
        steer=Message.Steer.ACCEPTED if steers else Message.Steer.NONE,
        created_at=at,
        **columns,
    )
    run = None
    with log_writes():
        row.save(using=using, force_insert=True)
        opens_turn = message.role == "user" and not steers
        events = [
            _event(conversation.pk, seq, "message.completed", body, at, row.run_id, row.pk, opens_turn=opens_turn)
        ]
        if steers:
            events.append(_event(conversation.pk, moved.head, "steer.accepted", steer, at, message=row.pk))
        elif queue is not None and moved.queued_now:
            run = Run(conversation_id=conversation.pk, trigger=seq, **statement.run_columns(queue, at))
            run.save(using=using, force_insert=True)
            events.append(_event(conversation.pk, moved.head, "run.queued", f"{before}{seq}{after}", at, run.pk))
        Event.objects.using(using).bulk_create(events)
    return Stored(row.pk, row.uid, seq, turn, moved.epoch, run_id=run.pk if run else None)


def _event(
    conversation_id: int,
    seq: int,
    kind: str,
    body: str,
    at: datetime,
    run: int | None = None,
    message: int | None = None,
    *,
    opens_turn: bool = False,
) -> Event:
    return Event(
        conversation_id=conversation_id,
        seq=seq,
        type=kind,
        run_id=run,
        message_id=message,
        opens_turn=opens_turn,
        body=body,
        bytes=size(body),
        created_at=at,
    )


def _stored_before(conversation: Conversation, message: NewMessage) -> Stored | None:
    """The message this client_id was used for. Raises Conflict when its body was another."""
    if message.client_id is None:
        return None
    earlier = (
        Message.objects.using(db.write_alias(Message))
        .filter(
            conversation=conversation.pk,
            author_kind=message.author.type,
            author_id=message.author.id,
            client_id=message.client_id,
        )
        .values_list("pk", "uid", "seq", "turn", "client_hash", "conversation__epoch")
        .first()
    )
    if earlier is None:
        return None
    pk, uid, seq, turn, body_hash, epoch = earlier
    if body_hash != message.hash:
        raise Conflict
    return Stored(pk, uid, seq, turn, epoch, duplicate=True)
