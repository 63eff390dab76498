"""Decisions about tool calls, from any surface: made once, and then the run goes on."""

from datetime import datetime
from typing import Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction

from crossmemory import budget, db, outbox, permission, runs, turns
from crossmemory.events import Actor
from crossmemory.exceptions import NotFound
from crossmemory.models import Conversation, Owner, ToolCall


def decide(
    conversation: Conversation,
    tool_call: Any,
    decision: Literal["approved", "denied"],
    args_hash: str,
    *,
    by: Actor,
    where: str,
    signed_in_at: datetime | None = None,
) -> None:
    """Carry out a person's decision; wakes a runner when the run can go on.

    Raises NotFound, and from crossmemory.turns: AlreadyDecided, and Refused for other arguments, the wrong place or a
    sign-in that is too old.
    """
    permission.check_conversation(conversation)
    try:
        ready = turns.decide(conversation, tool_call, decision, args_hash, by, where, signed_in_at)
    except (ToolCall.DoesNotExist, ValidationError):
        raise NotFound("There is no such request.") from None
    transaction.on_commit(outbox.ring, using=db.write_alias(ToolCall), robust=True)  # its card is to be closed
    if ready:
        transaction.on_commit(runs.wake, using=db.write_alias(ToolCall), robust=True)


adecide = db.twin(decide)


def answer_again(conversation: Conversation, by: Actor, turn: int | None = None) -> bool:
    """Ask for another answer to a turn, by default to the person's newest words; False while one is under way.

    Raises AgentNotAllowed, OverBudget.
    """
    permission.check_conversation(conversation)
    budget.check(Owner(conversation.user_id, conversation.tenant, conversation.agent))
    queued = turns.answer_again(conversation, by, turn)
    if queued:
        transaction.on_commit(runs.wake, using=db.write_alias(Conversation), robust=True)
    return queued
