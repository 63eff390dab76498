"""The agent's answers: started, written piece by piece, completed or interrupted. Every write is fenced by its run."""

from collections.abc import Iterable
from typing import Any, Literal

from crossmemory import db
from crossmemory.clean import clean
from crossmemory.events import Actor, MessageCompleted, MessageInterrupted, MessageStarted
from crossmemory.exceptions import Fenced
from crossmemory.log.counter import Pointers
from crossmemory.log.entries import Entry, now
from crossmemory.log.writer import append, ring_on_commit
from crossmemory.markup import to_html
from crossmemory.models import Message, MessageChunk, Run
from crossmemory.models.guard import log_writes


def start(run: Run, saw: dict[str, Any] | None) -> Message:
    """An answer begins: its place in the log is here. Inside the caller's transaction, which checks the fence."""
    agent = Actor("agent", run.agent)
    message = new_answer(run)
    message.status = Message.Status.WRITING
    append(
        run.conversation, [Entry(MessageStarted(message=str(message.uid), saw=saw), agent, run=run, message=message)]
    )
    return message


def write(message: Message, run: Run, offset: int, text: str) -> None:
    """Store a piece of text at `offset` (code points) and ring. Raises Fenced when the run is somebody else's."""
    connection = db.connection_for(MessageChunk)
    quote = connection.ops.quote_name
    chunk, runs = quote(MessageChunk._meta.db_table), quote(Run._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {chunk} (message_id, {quote('offset')}, text) SELECT {message.pk}, {int(offset)}, %s"
            f" WHERE EXISTS (SELECT 1 FROM {runs} WHERE id = %s AND attempt = %s AND status = 'running')",
            [clean(text), run.pk, run.attempt],
        )
        if cursor.rowcount != 1:
            raise Fenced
    ring_on_commit(run.conversation_id, connection)


def text_so_far(message_id: int) -> str:
    """What was written of a message so far, from its committed pieces."""
    chunks = MessageChunk.objects.using(db.write_alias(MessageChunk)).filter(message=message_id).order_by("offset")
    return "".join(chunks.values_list("text", flat=True))


def complete(
    run: Run,
    message: Message,
    text: str,
    *,
    saw: dict[str, Any] | None,
    degraded: bool,
    then: Iterable[Entry] = (),
    pointers: Pointers | None = None,
) -> Message:
    """The answer is whole: one event with its text, the pieces go. Inside the caller's transaction.

    `message` is the one that was started, or a new one for an answer that nobody saw being written. `then` are events
    that follow at once, such as `run.completed`.
    """
    message.text, message.status = clean(text), Message.Status.COMPLETE
    data = MessageCompleted(
        message=str(message.uid),
        role="assistant",
        text=message.text,
        html=to_html(message.text),
        saw=saw,
        degraded=degraded or None,
    )
    streamed = message.pk is not None
    append(run.conversation, [Entry(data, Actor("agent", run.agent), run=run, message=message), *then], pointers)
    if streamed:
        _close(message)
    return message


def interrupt(
    run: Run,
    message: Message,
    reason: Literal["stopped", "failed", "abandoned"],
    then: Iterable[Entry] = (),
    pointers: Pointers | None = None,
) -> str:
    """The answer will not be finished: what was written stays. Inside the caller's transaction. Returns the text."""
    message.text, message.status = text_so_far(message.pk), Message.Status.INTERRUPTED
    data = MessageInterrupted(message=str(message.uid), text=message.text, html=to_html(message.text), reason=reason)
    append(run.conversation, [Entry(data, Actor("agent", run.agent), run=run, message=message), *then], pointers)
    _close(message)
    return message.text


def _close(message: Message) -> None:
    """Nothing more is written to a message: its text goes into its row, and its pieces go."""
    using = db.write_alias(Message)
    with log_writes():
        MessageChunk.objects.using(using).filter(message=message.pk).delete()
        Message.objects.using(using).filter(pk=message.pk).update(text=message.text, status=message.status)


def new_answer(run: Run) -> Message:
    """The message that a run will write, not stored yet."""
    conversation = run.conversation
    return Message(
        conversation=conversation,
        owner_id=conversation.user_id,
        tenant=conversation.tenant,
        agent=conversation.agent,
        shared=conversation.shared,
        turn=run.trigger,
        role="assistant",
        author_kind="agent",
        author_id=run.agent,
        run=run,
        created_at=now(),
    )
