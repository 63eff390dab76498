"""Claiming: who carries out a run, and for how long."""

from collections.abc import Collection
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from crossmemory import clock, db, log
from crossmemory.conf import settings
from crossmemory.events import Actor, RunStarted
from crossmemory.exceptions import Fenced
from crossmemory.log import Entry, Pointers
from crossmemory.models import Message, Pause, Run
from crossmemory.turns.ending import abandon
from crossmemory.turns.moves import Outgoing, Status, lapsed, lease, mine, move, runs


def claimable(older_than: float = 0, in_hand: Collection[int] = ()) -> list[int]:
    """Keys of runs that somebody should take: queued in an idle conversation, with every approval decided, or with an
    expired lease; oldest first.

    `older_than` (seconds) leaves queued runs a moment to the process that queued them. One that waits for what else
    is being said is left until its time has come, and what is paused until it is no more. Runs `in_hand` (keys) are
    the caller's already: should a lease have run out while the database was away, they are not taken from themselves.
    """
    active = runs().filter(conversation=OuterRef("conversation"), status__in=[Status.RUNNING, Status.AWAITING_APPROVAL])
    queued = (
        clock.due(settings.QUIET_MAX_SECONDS)
        & Q(status=Status.QUEUED, created_at__lte=Now() - timedelta(seconds=older_than))
        & ~Exists(active)
    )
    decided = Q(status=Status.AWAITING_APPROVAL, ready=True)
    open_runs = runs().filter(status__in=[Status.QUEUED, Status.RUNNING, Status.AWAITING_APPROVAL])
    paused = Pause.objects.using(db.write_alias(Pause)).over(OuterRef("agent"), OuterRef("conversation__surface"))
    found = open_runs.filter(~Exists(paused), queued | lapsed() | decided).exclude(pk__in=list(in_hand))
    return list(found.order_by("pk").values_list("pk", flat=True)[:100])


def claim(run_id: int, worker: str, outgoing: Outgoing) -> Run | None:
    """Take a waiting run; None when somebody else has it, or when it had to be closed as abandoned.

    A run whose process died is taken again only when nothing was shown and no tool was called.
    """
    run = runs().select_related("conversation").filter(pk=run_id).first()
    if run is None:
        return None
    if run.status == Status.RUNNING:
        shown = Message.objects.using(db.write_alias(Message)).filter(
            conversation=run.conversation_id, status=Message.Status.WRITING, run=run.pk
        )
        if run.tools_called or run.attempt >= settings.RUN_MAX_ATTEMPTS or shown.exists():
            abandon(run, outgoing)
            return None
        takes = lapsed()
    elif run.status == Status.QUEUED:
        takes = Q(status=Status.QUEUED)
    elif run.status == Status.AWAITING_APPROVAL:
        takes = Q(status=Status.AWAITING_APPROVAL, ready=True)
    else:
        return None
    run.attempt += 1
    entry = Entry(RunStarted(attempt=run.attempt), Actor("agent", run.agent), run=run)
    try:
        with transaction.atomic(using=db.write_alias(Run)):
            pointers: Pointers = {"queued_seq": None, "active_seq": run.trigger} if run.status == Status.QUEUED else {}
            log.append(run.conversation, [entry], pointers)
            move(
                run,
                takes & Q(attempt=run.attempt - 1),
                status=Status.RUNNING,
                ready=False,
                attempt=run.attempt,
                worker=worker,
                lease_until=lease(),
                preview="",
                started_at=Now(),
            )
    except (Fenced, IntegrityError):  # taken meanwhile; or another run of this conversation is active
        return None
    run.status, run.worker = Status.RUNNING, worker
    return run


def renew(run: Run, preview: str = "") -> bool:
    """Hold a run for another lease; returns whether it is asked to stop. Raises Fenced.

    `preview` is the text so far, where it may be shown before it is a message.
    """
    mine = runs().filter(pk=run.pk, attempt=run.attempt, status=Status.RUNNING)
    if not mine.update(lease_until=lease(), preview=preview):
        raise Fenced
    return bool(mine.values_list("stop_requested", flat=True).first())


def note_context(
    run: Run,
    manifest: dict[str, Any],
    window_start: int | None,
    recent_start: int | None = None,
    *,
    degraded: bool = False,
    error: str = "",
) -> None:
    """Record what the agent is about to see. Raises Fenced."""
    move(
        run,
        mine(run),
        manifest=manifest,
        window_start=window_start,
        recent_start=recent_start,
        degraded=degraded,
        error=error,
    )


def active_worker(conversation_id: int) -> tuple[int, str] | None:
    """Key and worker of the run that is active in a conversation."""
    return runs().filter(conversation=conversation_id, status=Status.RUNNING).values_list("pk", "worker").first()
