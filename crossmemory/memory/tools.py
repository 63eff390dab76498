"""Which tools were used in the conversation that is being answered, and what came of them."""

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from crossmemory import db
from crossmemory.memory.types import Remembered, ToolUsed
from crossmemory.models import Conversation, Run, ToolCall

_MOST = 100  # calls that are looked at, newest first
_LONGEST = 4000  # characters of a result as JSON; what is longer is shortened
_FIELDS = ("uid", "name", "arguments", "result", "error", "status", "created_at", "finished_at", "decided_at")
_OPEN = frozenset({Run.Status.QUEUED, Run.Status.RUNNING, Run.Status.AWAITING_APPROVAL})
_OUTCOMES: dict[str, Any] = {
    ToolCall.Status.COMPLETED: "done",
    ToolCall.Status.FAILED: "failed",
    ToolCall.Status.DENIED: "denied",
    ToolCall.Status.EXPIRED: "expired",
    ToolCall.Status.CANCELLED: "cancelled",
}


def used(conversation: Conversation, messages: Sequence[Remembered], trigger: int | None) -> list[ToolUsed]:
    """The calls of the turns that `messages` of this conversation belong to, in order.

    Not those of a run that is still going on: its agent knows them. Of the turn that is being answered, those of runs
    that came to no answer, so that nothing is done twice blindly. One query, whatever the length of the history.
    """
    own = [message for message in messages if message.own]
    turns = {message.turn for message in own}
    if not turns or conversation.pk is None:
        return []
    rows = (
        ToolCall.objects.using(db.write_alias(ToolCall))
        .filter(conversation=conversation.pk)
        .order_by("-pk")
        .values(*_FIELDS, "run", "run__trigger", "run__status")[:_MOST]
    )
    found = [row for row in reversed(rows) if row["run__trigger"] in turns and _over(row, trigger)]
    return _placed(found, own)


def _over(row: dict[str, Any], trigger: int | None) -> bool:
    if row["run__status"] in _OPEN:
        return False
    return bool(row["run__trigger"] != trigger or row["run__status"] != Run.Status.COMPLETED)


def _placed(rows: Sequence[dict[str, Any]], own: Sequence[Remembered]) -> list[ToolUsed]:
    """Calls that were under way at the same time are one step; each stands before what its run said after it."""
    said: dict[int, list[Remembered]] = {}
    for message in own:
        if message.run_id is not None:
            said.setdefault(message.run_id, []).append(message)
    made: list[ToolUsed] = []
    step, current, busy_until = 0, None, None
    for row in rows:
        answers = said.get(row["run"], [])
        later = [message.id for message in answers if message.at > row["created_at"]]
        before = later[0] if later else answers[-1].id if answers else None
        place = (row["run"], before)
        if place != current or (busy_until is not None and row["created_at"] >= busy_until):
            step, current, busy_until = step + 1, place, _end(row)
        elif (end := _end(row)) is None or (busy_until is not None and end > busy_until):
            busy_until = end
        outcome = _OUTCOMES.get(row["status"], "unknown")
        made.append(
            ToolUsed(
                id=str(row["uid"]),
                name=row["name"],
                arguments=row["arguments"],
                result=row["error"] if outcome == "failed" else _shortened(row["result"]),
                outcome=outcome,
                turn=row["run__trigger"],
                before=before,
                step=step,
            )
        )
    return made


def _end(row: dict[str, Any]) -> datetime | None:
    """When nothing more was to come of a call; None: never known."""
    end: datetime | None = row["finished_at"] or (row["decided_at"] if row["status"] in _OUTCOMES else None)
    return end


def _shortened(result: Any) -> Any:
    text = json.dumps(result, ensure_ascii=False)
    return result if len(text) <= _LONGEST else f"{text[:_LONGEST]}… (shortened)"
