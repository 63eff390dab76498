"""What people ask of runs: to wait for the rest of what they say, to stop, or to answer once more."""

from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Least, Now

from crossmemory import db, log
from crossmemory.events import Actor, ApprovalDecided, RunQueued, RunStopped
from crossmemory.exceptions import Fenced
from crossmemory.log import Entry, Pointers
from crossmemory.models import Conversation, Message, Run, ToolCall
from crossmemory.turns.moves import ENDED, Status, by_whom, move, runs


def wait_for_more(conversation: Conversation, quiet: float, longest: float) -> None:
    """More was said in the turn whose run waits: it waits `quiet` seconds from now, `longest` since it was queued."""
    waiting = runs().filter(conversation=conversation.pk, status=Status.QUEUED, not_before__isnull=False)
    most = F("created_at") + timedelta(seconds=longest)
    waiting.update(not_before=Least(Now() + timedelta(seconds=quiet), most))


def request_stop(conversation: Conversation, by: Actor) -> bool:
    """Ask for the active run to stop, and take a waiting one out of the queue; whether there was one."""
    asked = runs().filter(conversation=conversation.pk, status=Status.RUNNING).update(stop_requested=True)
    waits = [Status.QUEUED, Status.AWAITING_APPROVAL]
    stopped = [_stop_waiting(run, by) for run in runs().filter(conversation=conversation.pk, status__in=waits)]
    if not all(stopped):  # claimed meanwhile: stop it there
        return request_stop(conversation, by)
    return bool(asked or stopped)


def _stop_waiting(run: Run, by: Actor) -> bool:
    """Close a run that nobody carries out; False when somebody took it meanwhile."""
    conversation = run.conversation
    pointers: Pointers = {"queued_seq": None} if run.status == Status.QUEUED else ENDED
    using = db.write_alias(Run)
    try:
        with transaction.atomic(using=using):
            calls = list(ToolCall.objects.using(using).filter(run=run.pk, status=ToolCall.Status.REQUESTED))
            cancelled = [
                Entry(ApprovalDecided(tool_call=str(call.uid), decision="cancelled"), by, run=run) for call in calls
            ]
            log.append(conversation, [*cancelled, Entry(RunStopped(by=by_whom(by)), by, run=run)], pointers)
            move(run, Q(status=run.status, attempt=run.attempt), status=Status.STOPPED, finished_at=Now())
            open_calls = ToolCall.objects.using(using).filter(run=run.pk, status=ToolCall.Status.REQUESTED)
            if open_calls.update(status=ToolCall.Status.CANCELLED, decided_at=Now()) != len(calls):
                raise Fenced
            if run.status == Status.AWAITING_APPROVAL:
                log.promote(run)
    except Fenced:
        return False
    return True


def answer_again(conversation: Conversation, by: Actor, turn: int | None = None) -> bool:
    """Queue another answer to a turn, by default to the person's newest words; False while one is under way, or
    nothing was said in it."""
    using = db.write_alias(Run)
    said = Message.objects.using(using).filter(conversation=conversation.pk, role="user", status="complete")
    said = said if turn is None else said.filter(turn=turn)
    newest = said.order_by("-seq").values_list("turn", flat=True).first()
    open_runs = runs().filter(
        conversation=conversation.pk, status__in=[Status.QUEUED, Status.RUNNING, Status.AWAITING_APPROVAL]
    )
    if newest is None or open_runs.exists():
        return False
    earlier = runs().filter(conversation=conversation.pk, trigger=newest).order_by("-pk").first()
    run = Run(
        conversation=conversation,
        agent=conversation.agent,
        trigger=newest,
        destination=earlier.destination if earlier else None,
    )
    try:
        with transaction.atomic(using=using):
            entry = Entry(RunQueued(trigger=newest), by, run=run)
            run.pk = None
            log.append(conversation, [entry], {"queued_seq": newest})
            run.save(using=using, force_insert=True)
    except IntegrityError:  # somebody queued or began one meanwhile
        return False
    return True
