"""Selecting: which stored messages are in reach. Bounded queries, whatever the length of a history.

Each takes the newest rows from an index first and asks about time, boundary and the rest only then: asked together,
somebody who has been quiet would have the whole history read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory import db
from crossmemory.conf import primary_surface, surface_label
from crossmemory.memory.types import LeftOut, Reason, Remembered
from crossmemory.models import Conversation, Message, Owner, Preference

#: the condition of the partial indexes that the merged read uses, in literals so that a prepared plan can use them too
_REMEMBERED = "m.shared AND m.status = 'complete'"
#: SQLite takes such an index only for the very words of its condition, which another version of Django wrote otherwise
_REMEMBERED_TOO = "m.shared = 1 AND m.status = 'complete'"
COLUMNS = ("id", "conversation_id", "seq", "turn", "role", "text", "created_at", "sent_at", "run_id")
_REASONS: dict[str, Reason] = {
    "writing": "unfinished",
    "interrupted": "unfinished",
    "redacted": "deleted",
    "refused": "refused",
}


@lru_cache(maxsize=8)
def _sql(alias: str) -> dict[str, str]:
    connection = connections[alias]
    quote = connection.ops.quote_name
    message, conversation = quote(Message._meta.db_table), quote(Conversation._meta.db_table)
    columns = ", ".join(f"m.{quote(name)}" for name in COLUMNS)
    mine = f"m.{quote('owner_id')} = %s AND m.tenant = %s AND m.agent = %s"
    # What was said before a fresh start everywhere is not brought up; the index ends the scan there.
    preference = quote(Preference._meta.db_table)
    boundary = f"(SELECT p.boundary FROM {preference} p WHERE p.{quote('user_id')} = %s AND p.tenant = %s)"
    newest = "(m.id * -1)"  # as the indexes have it: see NEWEST_FIRST
    fresh = f"{newest} < COALESCE({boundary}, 0) * -1"
    remembered, kept_out = _REMEMBERED, f"NOT ({_REMEMBERED})"
    if connection.vendor == "sqlite":
        remembered, kept_out = f"{remembered} AND {_REMEMBERED_TOO}", f"{kept_out} AND NOT ({_REMEMBERED_TOO})"
    reach = (
        f"SELECT {columns}, c.surface FROM (SELECT m.* FROM {message} m WHERE {mine} AND {fresh}"
        f" AND {remembered} ORDER BY {newest} LIMIT %s) m JOIN {conversation} c ON c.id = m.conversation_id"
    )
    return {
        "reach": f"{reach} ORDER BY m.id",
        "newest": f"{reach} WHERE m.created_at >= %s ORDER BY m.id",
        "thread": f"SELECT {columns}, %s FROM {message} m WHERE m.conversation_id = %s AND m.status = 'complete'"
        " ORDER BY m.seq DESC LIMIT %s",
        "of_conversation": f"SELECT * FROM (SELECT {columns}, %s AS surface FROM {message} m"
        f" WHERE m.conversation_id = %s AND {remembered} ORDER BY m.seq DESC LIMIT %s) m WHERE {fresh}",
        "kept_out": f"SELECT m.id, m.status, m.conversation_id, c.group_chat FROM (SELECT m.* FROM {message} m"
        f" WHERE {mine} AND {kept_out} ORDER BY {newest} LIMIT %s) m"
        f" JOIN {conversation} c ON c.id = m.conversation_id WHERE m.created_at >= %s ORDER BY m.id",
    }


def _fields() -> list[models.Field[Any, Any] | None]:
    times = {field.name: field for field in Message._meta.concrete_fields if isinstance(field, models.DateTimeField)}
    return [*(times.get(name) for name in COLUMNS), None]


def _read(
    connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[object], *, own: bool = False
) -> list[Remembered]:
    return made(db.rows(connection, sql, parameters, _fields()), own=own)


def made(rows: Iterable[Sequence[Any]], *, own: bool = False) -> list[Remembered]:
    """Messages of rows of COLUMNS and the surface of their conversation."""
    labels: dict[str, str] = {}
    found = []
    for id, conversation_id, seq, turn, role, text, at, sent_at, run_id, surface in rows:
        label = labels.get(surface)
        if label is None:
            label = labels[surface] = surface_label(surface)
        found.append(Remembered(id, conversation_id, seq, turn, role, text, surface, label, at, sent_at, own, run_id))
    return found


def _mine(owner: Owner) -> list[Any]:
    if owner.agent is None:
        raise ValueError("Memory is one agent's: name it.")
    return [Message._meta.get_field("owner").get_db_prep_value(owner.user_id, _connection()), owner.tenant, owner.agent]


def _connection() -> BaseDatabaseWrapper:
    return db.connection_for(Message)


def _moment(connection: BaseDatabaseWrapper, moment: datetime) -> Any:
    return Message._meta.get_field("created_at").get_db_prep_save(moment, connection)


def newest(owner: Owner, since: datetime, limit: int) -> list[Remembered]:
    """The newest `limit` remembered messages of all the owner's conversations not older than `since`; ascending."""
    connection = _connection()
    sql = _sql(connection.alias)["newest"]
    mine = _mine(owner)
    return _read(connection, sql, [*mine, *mine[:2], limit, _moment(connection, since)])


def reach(owner: Owner, limit: int) -> list[Remembered]:
    """The newest `limit` remembered messages of all the owner's conversations, however old; ascending."""
    connection = _connection()
    mine = _mine(owner)
    return _read(connection, _sql(connection.alias)["reach"], [*mine, *mine[:2], limit])


def thread(conversation: Conversation, limit: int) -> list[Remembered]:
    """The newest `limit` complete messages of one conversation, as its own; ascending."""
    connection = _connection()
    parameters = [conversation.surface, conversation.pk, limit]
    return _read(connection, _sql(connection.alias)["thread"], parameters, own=True)[::-1]


def elsewhere(owner: Owner, surfaces: Sequence[str] | None, limit: int) -> list[Remembered]:
    """The newest `limit` remembered messages of the secondary surfaces (all, or those named); ascending."""
    connection = _connection()
    conversations = (
        Conversation.objects.using(connection.alias)
        .of(owner)
        .filter(singleton=True, shared=True)
        .exclude(surface=primary_surface())
    )
    if surfaces is not None:
        conversations = conversations.filter(surface__in=surfaces)
    places = list(conversations.values_list("surface", "pk"))
    if not places or not limit:
        return []
    each = _sql(connection.alias)["of_conversation"]
    person = _mine(owner)[:2]
    parameters = [value for surface, pk in places for value in (surface, pk, limit, *person)]
    found = _read(connection, " UNION ALL ".join([each] * len(places)), parameters)
    return sorted(found, key=lambda message: message.id)[-limit:]


def kept_out(conversation: Conversation, owner: Owner, since: datetime, limit: int) -> list[LeftOut]:
    """Of the newest `limit` messages that memory leaves out by what they are: those not older than `since`, with the
    reason; ascending. In a conversation that does not read memory, only its own.

    Messages kept out of memory count as shown in the conversation they were said in.
    """
    connection = _connection()
    with connection.cursor() as cursor:
        cursor.execute(_sql(connection.alias)["kept_out"], [*_mine(owner), limit, _moment(connection, since)])
        found = cursor.fetchall()
    return [
        LeftOut(pk, _REASONS.get(status, "group" if group_chat else "not shared"))
        for pk, status, place, group_chat in found
        if (status != "complete" if place == conversation.pk else conversation.reads)
    ]
