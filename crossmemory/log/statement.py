"""PostgreSQL: a message, its event, the queued run and the moved head in one statement."""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.conf import settings
from crossmemory.exceptions import NotFound
from crossmemory.log.columns import VALUE, Insert, Value, insert
from crossmemory.log.counter import COLUMNS, update_sql
from crossmemory.log.entries import NewMessage, QueueRun, Stored, queued_body, size, steer_body
from crossmemory.models import Conversation, Event, Message, Run

#: Where each column's value comes from: a parameter, or the conversation's row as the statement left it (c).
MESSAGE: Mapping[str, str | Value] = {
    "uid": VALUE,
    "conversation": "c.id",
    "owner": "c.user_id",
    "tenant": "c.tenant",
    "agent": "c.agent",
    "seq": "c.seq",
    "turn": "c.turn",
    "role": VALUE,
    "author_kind": VALUE,
    "author_id": VALUE,
    "text": VALUE,
    "parts": VALUE,
    "shared": "c.shared",
    "status": VALUE,
    "steer": "CASE WHEN c.steers THEN 'accepted' ELSE '' END",
    "client_id": VALUE,
    "client_hash": VALUE,
    "run": VALUE,
    "sent_at": VALUE,
    "created_at": VALUE,
}
MESSAGE_EVENT: Mapping[str, str | Value] = {
    "conversation": "c.id",
    "seq": "c.seq",
    "type": VALUE,
    "run": VALUE,
    "message": "m.id",
    "opens_turn": VALUE,
    "body": VALUE,
    "bytes": VALUE,
    "created_at": VALUE,
}
STEER_EVENT: Mapping[str, str | Value] = {
    "conversation": "c.id",
    "seq": "c.head",
    "type": "'steer.accepted'",
    "run": "NULL::bigint",
    "message": "m.id",
    "opens_turn": "false",
    "body": VALUE,
    "bytes": VALUE,
    "created_at": VALUE,
}
RUN: Mapping[str, str | Value] = {
    "uid": VALUE,
    "conversation": "c.id",
    "agent": VALUE,
    "trigger": "c.seq",
    "status": VALUE,
    "attempt": VALUE,
    "worker": VALUE,
    "lease_until": VALUE,
    "destination": VALUE,
    "stop_requested": VALUE,
    "tools_called": VALUE,
    "not_before": VALUE,
    "ready": VALUE,
    "agent_state": VALUE,
    "preview": VALUE,
    "usage": VALUE,
    "manifest": VALUE,
    "window_start": VALUE,
    "recent_start": VALUE,
    "degraded": VALUE,
    "error": VALUE,
    "created_at": VALUE,
    "started_at": VALUE,
    "first_text_at": VALUE,
    "finished_at": VALUE,
}
RUN_EVENT: Mapping[str, str | Value] = {
    "conversation": "c.id",
    "seq": "c.head",
    "type": "'run.queued'",
    "run": "r.id",
    "message": "NULL::bigint",
    "opens_turn": "false",
    "body": "concat(%s::text, c.seq::text, %s::text)",
    "bytes": "%s::int + length(c.seq::text)",
    "created_at": VALUE,
}


class _Statement:
    def __init__(self, connection: BaseDatabaseWrapper, queue: bool) -> None:
        self.message = insert(Message, MESSAGE, connection)
        opens_turn: str | Value = "NOT c.steers" if queue else VALUE
        self.event = insert(Event, {**MESSAGE_EVENT, "opens_turn": opens_turn}, connection)
        self.run: Insert | None = insert(Run, RUN, connection) if queue else None
        self.run_event: Insert | None = insert(Event, RUN_EVENT, connection) if queue else None
        self.steer: Insert | None = insert(Event, STEER_EVENT, connection) if queue else None
        moved = f"{update_sql(queue)} FROM t WHERE id = %s AND t.set IS NOT NULL RETURNING id, {', '.join(COLUMNS)}"
        if queue:
            place = (
                "active_seq IS NOT NULL AS steers, COALESCE(active_seq, queued_seq) AS turn,"
                " CASE WHEN active_seq IS NOT NULL OR queued_seq = head - 1 THEN head - 1 ELSE head END AS seq"
            )
        else:
            place = "false AS steers, head AS seq, COALESCE(%s::bigint, head) AS turn"
        steps = [
            "t AS MATERIALIZED (SELECT set_config('lock_timeout', %s, true) AS set)",
            f"moved AS ({moved})",
            f"c AS (SELECT *, {place} FROM moved)",
        ]
        if self.run:
            steps.append(
                f"r AS ({self.run.head} SELECT {self.run.expressions} FROM c"
                " WHERE c.seq < c.head AND NOT c.steers RETURNING id)"
            )
        steps.append(f"m AS ({self.message.head} SELECT {self.message.expressions} FROM c RETURNING id)")
        steps.append(f"e AS ({self.event.head} SELECT {self.event.expressions} FROM c, m)")
        if self.run_event:
            steps.append(f"q AS ({self.run_event.head} SELECT {self.run_event.expressions} FROM c, r)")
        if self.steer:
            steps.append(f"s AS ({self.steer.head} SELECT {self.steer.expressions} FROM c, m WHERE c.steers)")
        run_id = "(SELECT id FROM r)" if queue else "NULL::bigint"
        self.sql = f"WITH {', '.join(steps)} SELECT m.id, c.seq, c.turn, c.epoch, {run_id} FROM c, m"


@lru_cache(maxsize=8)
def _statement(alias: str, queue: bool) -> _Statement:
    return _Statement(connections[alias], queue)


def append_message(
    connection: BaseDatabaseWrapper,
    conversation: Conversation,
    message: NewMessage,
    body: str,
    queue: QueueRun | None,
    at: datetime,
) -> Stored:
    """Store a cleaned message with its event's body. Raises NotFound, and IntegrityError for a repeated client_id."""
    statement = _statement(connection.alias, queue is not None)
    when = Message._meta.get_field("created_at").get_db_prep_save(at, connection)
    timeout = f"{settings.LOCK_TIMEOUT_SECONDS}s"
    event = {
        "type": "message.completed",
        "run": message.run.pk if message.run else None,
        "opens_turn": message.role == "user",
        "body": body,
        "bytes": size(body),
        "created_at": at,
    }
    parameters: list[Any] = [timeout]
    if queue is None:
        parameters += [1, 1, event["bytes"], when, conversation.pk, message.turn]
    else:
        before, after = queued_body(conversation, queue, message.author, at)
        queued_size = size(before) + size(after)
        steer = steer_body(conversation, message, at)
        parameters += [event["bytes"], size(steer), queued_size, when, conversation.pk]
        assert statement.run is not None
        parameters += statement.run.parameters(run_columns(queue, at), connection)
    parameters += statement.message.parameters({**message.columns(), "created_at": at}, connection)
    parameters += statement.event.parameters(event, connection)
    if queue is not None:
        parameters += [before, after, queued_size, when]
        assert statement.steer is not None
        steered = {"body": steer, "bytes": size(steer), "created_at": at}
        parameters += statement.steer.parameters(steered, connection)
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, parameters)
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    return Stored(id=row[0], uid=message.uid, seq=row[1], turn=row[2], epoch=row[3], run_id=row[4])


def run_columns(queue: QueueRun, at: datetime) -> dict[str, Any]:
    """Values of a queued run's columns that do not come from the conversation's row."""
    return {
        "uid": queue.uid,
        "agent": queue.agent,
        "status": Run.Status.QUEUED,
        "attempt": 0,
        "worker": "",
        "lease_until": None,
        "destination": queue.destination,
        "stop_requested": False,
        "tools_called": False,
        "not_before": queue.not_before,
        "ready": False,
        "agent_state": None,
        "preview": "",
        "usage": None,
        "manifest": None,
        "window_start": None,
        "recent_start": None,
        "degraded": False,
        "error": "",
        "created_at": at,
        "started_at": None,
        "first_text_at": None,
        "finished_at": None,
    }
