"""Steers: what a person says while a run is active. Each is accepted, then consumed, promoted or expired, once."""

from collections.abc import Sequence

from crossmemory import db
from crossmemory.events import SYSTEM, Actor, RunQueued, SteerConsumed, SteerPromoted
from crossmemory.exceptions import Fenced
from crossmemory.log.entries import Entry
from crossmemory.log.writer import append
from crossmemory.models import Message, Run
from crossmemory.models.guard import log_writes

_ACCEPTED = Message.Steer.ACCEPTED


def waiting(conversation_id: int) -> list[Message]:
    """The steers of a conversation that nobody has taken yet, in order."""
    rows = Message.objects.using(db.write_alias(Message)).filter(conversation=conversation_id, steer=_ACCEPTED)
    return list(rows.order_by("seq"))


def consume(run: Run, steers: Sequence[Message]) -> None:
    """The agent takes steers into the answer it is writing. Inside the caller's transaction. Raises Fenced."""
    agent = Actor("agent", run.agent)
    entries = [Entry(SteerConsumed(message=str(each.uid)), agent, run=run, message=each) for each in steers]
    append(run.conversation, entries)
    _mark(steers, Message.Steer.CONSUMED)


def promote(ended: Run) -> Run | None:
    """The run has ended, in this transaction: what it did not take is answered next, by a queued run."""
    steers = waiting(ended.conversation_id)
    if not steers:
        return None
    trigger = steers[0].seq
    queued = Run(conversation=ended.conversation, agent=ended.agent, trigger=trigger, destination=ended.destination)
    queued.save(using=db.write_alias(Run), force_insert=True)
    promoted = [Entry(SteerPromoted(message=str(each.uid)), SYSTEM, message=each) for each in steers]
    entry = Entry(RunQueued(trigger=trigger), SYSTEM, run=queued)
    append(ended.conversation, [*promoted, entry], {"queued_seq": trigger})
    _mark(steers, Message.Steer.PROMOTED, turn=trigger)
    return queued


def _mark(steers: Sequence[Message], steer: str, **values: int) -> None:
    rows = Message.objects.using(db.write_alias(Message)).filter(pk__in=[each.pk for each in steers], steer=_ACCEPTED)
    with log_writes():
        if rows.update(steer=steer, **values) != len(steers):
            raise Fenced("Somebody else decided about a steer meanwhile.")
