"""A run ends: completed, failed, stopped or abandoned. What was said meanwhile is answered next."""

from collections.abc import Collection, Iterable
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import db, log
from crossmemory.events import SYSTEM, Actor, RunAbandoned, RunCompleted, RunFailed, RunStopped
from crossmemory.exceptions import Fenced
from crossmemory.log import Entry
from crossmemory.models import Message, Run, manner
from crossmemory.turns.moves import ENDED, Outgoing, Status, by_whom, close, lapsed, mine, move, owner_of


def begin_answer(run: Run, saw: dict[str, Any], text: str) -> Message:
    """The first text of an answer: from here on it is shown. Raises Fenced."""
    with transaction.atomic(using=db.write_alias(Run)):
        message = log.start(run, saw)
        move(run, mine(run), first_text_at=Now())
        log.write(message, run, 0, text)
    return message


def complete(
    run: Run,
    message: Message | None,
    text: str,
    *,
    saw: dict[str, Any],
    degraded: bool,
    usage: dict[str, Any] | None,
    outgoing: Outgoing,
) -> Message:
    """The answer is whole and goes where it was asked, in one transaction. Raises Fenced."""
    message = message or log.new_answer(run)
    done = Entry(RunCompleted(message=str(message.uid)), Actor("agent", run.agent), run=run)
    with transaction.atomic(using=db.write_alias(Run)):
        log.complete(run, message, text, saw=saw, degraded=degraded, then=[done], pointers=ENDED)
        close(run, Status.COMPLETED, usage=usage)
        outgoing(run, message, text)
        log.promote(run)
    log.trim(run.conversation_id)
    return message


def fail(
    run: Run,
    message: Message | None,
    code: str,
    detail: str,
    error: str,
    outgoing: Outgoing,
    *,
    usage: dict[str, Any] | None = None,
    refused: Collection[int] = (),
) -> None:
    """The agent could not answer: `detail` is the line people get, `error` is for staff. Raises Fenced.

    `refused` are keys of messages of this conversation that the model's provider does not accept.
    """
    failed = Entry(RunFailed(code=code, detail=detail), Actor("agent", run.agent), run=run)
    with transaction.atomic(using=db.write_alias(Run)):
        text = _interrupt(run, message, "failed", [failed])
        close(run, Status.FAILED, error=error, usage=usage)
        if refused:
            log.refuse(run, refused)
        _notice(run, text, detail, outgoing)
        log.promote(run)
    log.trim(run.conversation_id)


def stop(
    run: Run, message: Message | None, by: Actor, outgoing: Outgoing, *, usage: dict[str, Any] | None = None
) -> None:
    """The run is stopped as asked; what was written stays. Raises Fenced."""
    stopped = Entry(RunStopped(by=by_whom(by)), by, run=run)
    with transaction.atomic(using=db.write_alias(Run)):
        text = _interrupt(run, message, "stopped", [stopped])
        close(run, Status.STOPPED, usage=usage)
        if text:
            _notice(run, text, _("(Stopped.)"), outgoing)
        log.promote(run)
    log.trim(run.conversation_id)


def abandon(run: Run, outgoing: Outgoing) -> None:
    """Close a run whose process died after something was shown: visibly, with what was written. Idempotent."""
    message = (
        Message.objects.using(db.write_alias(Message))
        .filter(conversation=run.conversation_id, run=run.pk, status=Message.Status.WRITING)
        .first()
    )
    with translation.override(manner(owner_of(run))[0]):
        detail = _("I was interrupted before I could finish. Please ask again.")
    try:
        with transaction.atomic(using=db.write_alias(Run)):
            text = _interrupt(run, message, "abandoned", [Entry(RunAbandoned(), SYSTEM, run=run)])
            move(
                run,
                lapsed() & Q(attempt=run.attempt),
                status=Status.ABANDONED,
                lease_until=None,
                preview="",
                finished_at=Now(),
            )
            _notice(run, text, detail, outgoing)
            log.promote(run)
    except Fenced:
        return
    log.trim(run.conversation_id)


def _interrupt(run: Run, message: Message | None, reason: Any, then: Iterable[Entry]) -> str:
    if message is None:
        log.append(run.conversation, list(then), ENDED)
        return ""
    return log.interrupt(run, message, reason, then, pointers=ENDED)


def _notice(run: Run, text: str, detail: str, outgoing: Outgoing) -> None:
    """On a surface that shows only finished messages, people get what was written, and why it ends there."""
    if run.destination:
        outgoing(run, None, f"{text}\n\n{detail}" if text else detail)
