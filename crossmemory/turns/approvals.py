"""Tools and approvals: what the agent uses, what it asks to use, and the person's decision, made once."""

import hashlib
import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from crossmemory import budget, db, log
from crossmemory.clean import clean_json
from crossmemory.conf import settings
from crossmemory.events import (
    SYSTEM,
    Actor,
    ApprovalDecided,
    ApprovalRequested,
    ToolCalled,
    ToolCompleted,
    ToolFailed,
    timestamp,
)
from crossmemory.exceptions import Fenced, Refused
from crossmemory.log import Entry
from crossmemory.models import Conversation, Message, Run, ToolCall
from crossmemory.turns.moves import Asking, Outgoing, Status, mine, move, owner_of, runs

Decision = Literal["approved", "denied"]
_States = ToolCall.Status


class AlreadyDecided(Refused):
    """Somebody has decided about this already."""

    code = "already_decided"

    def __init__(self, call: ToolCall) -> None:
        super().__init__()
        self.call = call

    @property
    def facts(self) -> dict[str, Any]:
        """What was decided, by whom, where and when."""
        call = self.call
        decision = call.status if call.status in (*_DECIDED,) else "approved"
        at = timestamp(call.decided_at) if call.decided_at else None
        return {"decision": decision, "by": call.decided_by, "where": call.decided_where, "at": at}


class OtherArguments(Refused):
    """The tool's arguments are not the ones that were shown: look again before you decide."""

    code = "hash"


class NotHere(Refused):
    """This cannot be decided here."""

    code = "not_here"


class SignInAgain(Refused):
    """Sign in again to decide about this."""

    code = "sign_in"


_DECIDED = (_States.APPROVED, _States.DENIED, _States.EXPIRED, _States.CANCELLED)


@dataclass(frozen=True, slots=True)
class Request:
    """A tool that the agent asks to use."""

    name: str
    arguments: Any = None
    title: str = ""  # what people read; the name where it is empty
    surfaces: Sequence[str] | None = None  # where it may be decided; None: anywhere
    fresh_sign_in: int | None = None  # seconds since the last sign-in, at most
    expires_in: float | None = None  # seconds; APPROVAL_SECONDS where it is None


@dataclass(frozen=True, slots=True)
class Decided:
    """A request, decided: what an agent gets when it goes on."""

    id: str
    name: str
    arguments: Any
    approved: bool
    decision: str


def hash_of(arguments: Any) -> str:
    """Names exactly these arguments."""
    return hashlib.sha256(json.dumps(arguments, sort_keys=True).encode()).hexdigest()


def _calls() -> Any:
    return ToolCall.objects.using(db.write_alias(ToolCall))


def call_tool(run: Run, name: str, arguments: Any) -> ToolCall:
    """The agent uses a tool; from here on the run is never begun again by itself. Raises Fenced."""
    call = ToolCall(conversation=run.conversation, run=run, name=name, arguments=clean_json(arguments))
    entry = Entry(
        ToolCalled(tool_call=str(call.uid), name=name, arguments=call.arguments), Actor("agent", run.agent), run=run
    )
    with transaction.atomic(using=db.write_alias(ToolCall)):
        log.append(run.conversation, [entry])
        move(run, mine(run), tools_called=True)
        call.save(using=db.write_alias(ToolCall), force_insert=True)
    run.tools_called = True
    return call


def finish_tool(run: Run, call_uid: str, result: Any = None, error: str = "") -> None:
    """What came of a tool, used at once or after an approval. Raises Fenced."""
    data = (
        ToolFailed(tool_call=call_uid, error=error)
        if error
        else ToolCompleted(tool_call=call_uid, result=clean_json(result))
    )
    with transaction.atomic(using=db.write_alias(ToolCall)):
        log.append(run.conversation, [Entry(data, Actor("agent", run.agent), run=run)])
        move(run, mine(run), tools_called=True)
        _calls().filter(uid=call_uid, run=run.pk).update(
            status=_States.FAILED if error else _States.COMPLETED,
            result=clean_json(result),
            error=error,
            finished_at=Now(),
        )


def await_approval(
    run: Run,
    message: Message | None,
    text: str,
    requests: Sequence[Request],
    state: Any,
    *,
    saw: dict[str, Any],
    outgoing: Outgoing,
    asking: Asking | None = None,
    usage: dict[str, Any] | None = None,
) -> list[ToolCall]:
    """The run waits for the person, across restarts; what was said so far is a whole message. Raises Fenced."""
    agent = Actor("agent", run.agent)
    if text:
        message = message or log.new_answer(run)  # before the calls: it was said before them
    now = timezone.now()
    calls = [_requested(run, request, now) for request in requests]
    entries = [
        Entry(
            ApprovalRequested(
                tool_call=str(call.uid),
                name=call.name,
                title=call.title or None,
                arguments=call.arguments,
                args_hash=call.args_hash,
                expires_at=timestamp(call.expires_at or now),
            ),
            agent,
            run=run,
        )
        for call in calls
    ]
    with transaction.atomic(using=db.write_alias(Run)):
        if text and message is not None:
            log.complete(run, message, text, saw=saw, degraded=False, then=entries)
            outgoing(run, message, text)
        else:
            log.append(run.conversation, entries)
        move(
            run,
            mine(run),
            status=Status.AWAITING_APPROVAL,
            ready=False,
            lease_until=None,
            preview="",
            tools_called=True,
            agent_state=clean_json(state),
            usage=usage,
        )
        budget.spend(owner_of(run), usage, run.usage)
        _calls().bulk_create(calls)
        if asking is not None:
            asking(run, calls)
    return calls


def _requested(run: Run, request: Request, now: datetime) -> ToolCall:
    seconds = settings.APPROVAL_SECONDS if request.expires_in is None else request.expires_in
    arguments = clean_json(request.arguments)
    return ToolCall(
        conversation=run.conversation,
        run=run,
        name=request.name,
        title=request.title[:200],
        arguments=arguments,
        args_hash=hash_of(arguments),
        status=_States.REQUESTED,
        surfaces=list(request.surfaces) if request.surfaces is not None else None,
        fresh_sign_in=request.fresh_sign_in,
        expires_at=now + timedelta(seconds=seconds),
    )


def decide(
    conversation: Conversation,
    call_uid: Any,
    decision: Decision,
    args_hash: str,
    by: Actor,
    where: str,
    signed_in_at: datetime | None = None,
) -> bool:
    """The person's decision, made once; whether the run can go on now (wake a runner then).

    Raises NotFound's kin: ToolCall.DoesNotExist for an unknown call, AlreadyDecided for the loser of a race,
    OtherArguments, NotHere, SignInAgain.
    """
    call: ToolCall = _calls().select_related("run").get(conversation=conversation.pk, uid=call_uid)
    if call.status != _States.REQUESTED:
        raise AlreadyDecided(call)
    if call.args_hash != args_hash:
        raise OtherArguments
    if call.surfaces is not None and where not in call.surfaces:
        raise NotHere
    if call.fresh_sign_in is not None:
        limit = timezone.now() - timedelta(seconds=call.fresh_sign_in)
        if signed_in_at is None or signed_in_at < limit:
            raise SignInAgain
    try:
        return _settle(conversation, call, decision, by, where)
    except Fenced:
        call.refresh_from_db(using=db.write_alias(ToolCall))
        raise AlreadyDecided(call) from None


def expire() -> int:
    """Decide what nobody decided in time; how many. Called by runners when they look for work."""
    late = _calls().select_related("run", "conversation").filter(status=_States.REQUESTED, expires_at__lt=Now())
    expired = 0
    for call in late[:100]:
        try:
            _settle(call.conversation, call, "expired", SYSTEM, "")
            expired += 1
        except Fenced:  # decided meanwhile
            continue
    return expired


def _settle(conversation: Conversation, call: ToolCall, decision: str, by: Actor, where: str) -> bool:
    data = ApprovalDecided(tool_call=str(call.uid), decision=decision, where=where or None)  # type: ignore[arg-type]
    with transaction.atomic(using=db.write_alias(ToolCall)):
        log.append(conversation, [Entry(data, by, run=call.run)])
        decided = (
            _calls()
            .filter(pk=call.pk, status=_States.REQUESTED)
            .update(status=decision, decided_by=by.id, decided_where=where, decided_at=Now())
        )
        if not decided:
            raise Fenced("Somebody decided meanwhile.")
        if _calls().filter(run=call.run_id, status=_States.REQUESTED).exists():
            return False
        return bool(runs().filter(pk=call.run_id, status=Status.AWAITING_APPROVAL).update(ready=True))


def decisions(run: Run) -> list[Decided]:
    """What was decided about the requests that a run waited for, in order."""
    found = _calls().filter(run=run.pk, status__in=_DECIDED).order_by("pk")
    return [
        Decided(str(call.uid), call.name, call.arguments, call.status == _States.APPROVED, call.status)
        for call in found
    ]


def pending(conversation_id: int) -> list[ToolCall]:
    """The requests that wait for a decision in a conversation, in order."""
    return list(_calls().filter(conversation=conversation_id, status=_States.REQUESTED).order_by("pk"))


def take_steers(run: Run, among: Collection[int] | None = None) -> list[Message]:
    """What the person said since the run began or last asked; the run has it then.

    `among` (keys of messages) takes only those: the ones that stand in a context already. Raises Fenced.
    """
    steers = [each for each in log.waiting_steers(run.conversation_id) if among is None or each.pk in among]
    if steers:
        with transaction.atomic(using=db.write_alias(Run)):
            log.consume(run, steers)
            move(run, mine(run), tools_called=run.tools_called)
    return steers
