"""The statement that moves a log's head. It locks the conversation's row, so seqs are gapless and in commit order."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.conf import settings
from crossmemory.exceptions import NotFound
from crossmemory.models import Conversation

#: `queued_seq` and `active_seq`, where they change
Pointers = Mapping[Literal["queued_seq", "active_seq"], int | None]


@dataclass(frozen=True, slots=True)
class Moved:
    """The conversation's row after its head moved."""

    user_id: Any
    tenant: str
    agent: str
    shared: bool
    epoch: str
    head: int
    queued_seq: int | None
    active_seq: int | None

    @property
    def steers(self) -> bool:
        """Whether the message came while a run is active: its event is then followed by steer.accepted."""
        return self.active_seq is not None

    @property
    def queued_now(self) -> bool:
        """Whether this statement queued a run: its trigger is then the event before its own."""
        return not self.steers and self.queued_seq == self.head - 1


COLUMNS = ("user_id", "tenant", "agent", "shared", "epoch", "head", "queued_seq", "active_seq")

#: moves the head by a number of events; parameters: events, events, bytes, time, key
_MOVE = """
UPDATE {table} SET head = head + %s, kept_events = kept_events + %s, kept_bytes = kept_bytes + %s, updated_at = %s
"""

#: moves it by one message, and by steer.accepted while a run is active, or by run.queued if none is queued (its body
#: holds the trigger's seq as digits)
#: parameters: bytes of the message's event, of steer.accepted, of run.queued without the digits, time, key
_MOVE_AND_QUEUE = """
UPDATE {table} SET
    head = head + CASE WHEN active_seq IS NULL AND queued_seq IS NOT NULL THEN 1 ELSE 2 END,
    kept_events = kept_events + CASE WHEN active_seq IS NULL AND queued_seq IS NOT NULL THEN 1 ELSE 2 END,
    kept_bytes = kept_bytes + %s + CASE
        WHEN active_seq IS NOT NULL THEN %s
        WHEN queued_seq IS NULL THEN %s + LENGTH(CAST(head + 1 AS TEXT))
        ELSE 0 END,
    queued_seq = CASE WHEN active_seq IS NULL THEN COALESCE(queued_seq, head + 1) ELSE queued_seq END,
    updated_at = %s
"""


def update_sql(queue: bool) -> str:
    return (_MOVE_AND_QUEUE if queue else _MOVE).format(table=Conversation._meta.db_table)


def limited(connection: BaseDatabaseWrapper) -> tuple[str, str, list[Any]]:
    """SQL in front of and behind an UPDATE, and a parameter, that bound the wait for its row's lock (PostgreSQL)."""
    if connection.vendor != "postgresql":
        return "", "WHERE id = %s", []
    setting = "WITH t AS MATERIALIZED (SELECT set_config('lock_timeout', %s, true) AS set)"
    return setting, "FROM t WHERE id = %s AND t.set IS NOT NULL", [f"{settings.LOCK_TIMEOUT_SECONDS}s"]


def _move(connection: BaseDatabaseWrapper, sql: str, parameters: list[Any], conversation_id: int) -> Moved:
    before, where, timeout = limited(connection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"{before} {sql} {where} RETURNING {', '.join(COLUMNS)}", [*timeout, *parameters, conversation_id]
        )
        row = cursor.fetchone()
    if row is None:
        raise NotFound
    return Moved(row[0], row[1], row[2], bool(row[3]), *row[4:])


def move(
    connection: BaseDatabaseWrapper, conversation_id: int, events: int, size: int, at: datetime, pointers: Pointers
) -> Moved:
    """Move the head by `events`, inside a transaction, and set the pointers to the queued and active run."""
    when = Conversation._meta.get_field("updated_at").get_db_prep_save(at, connection)
    sql = update_sql(False) + "".join(f", {name} = %s" for name in pointers)
    return _move(connection, sql, [events, events, size, when, *pointers.values()], conversation_id)


def move_and_queue(
    connection: BaseDatabaseWrapper, conversation_id: int, sizes: tuple[int, int, int], at: datetime
) -> Moved:
    """Move the head by a message and what follows from it; `sizes` as in _MOVE_AND_QUEUE. Raises NotFound."""
    when = Conversation._meta.get_field("updated_at").get_db_prep_save(at, connection)
    return _move(connection, update_sql(True), [*sizes, when], conversation_id)
