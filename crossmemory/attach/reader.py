"""Reading a log for clients: committed rows after a cursor, in pages of about one MiB, one query each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db import connections

from crossmemory import db, log, turns
from crossmemory.attach.frames import Snapshot
from crossmemory.conf import KIB, MIB
from crossmemory.events import timestamp
from crossmemory.models import Conversation, Event, Message, MessageChunk, Run

PAGE_BYTES = MIB
_MOST_EVENTS = 4096  # of a page, however small they are

Row = tuple[int, str, str, int]  # seq, type, stored body, bytes of the body


@dataclass(frozen=True, slots=True)
class News:
    """What a follower has not seen: the log's state and its next events."""

    epoch: str
    head: int
    floor: int
    rows: list[Row]


@lru_cache(maxsize=8)
def _sql(alias: str) -> dict[str, str]:
    quote = connections[alias].ops.quote_name
    names = {
        model.__name__.lower(): quote(model._meta.db_table)
        for model in (Conversation, Event, Message, MessageChunk, Run)
    }
    offset = quote("offset")
    return {
        "snapshot": f"""
            SELECT c.epoch, c.head, c.floor, c.trimmed_by, c.kept_events, c.kept_bytes,
                COALESCE(
                    (SELECT CASE WHEN r.ready THEN 'running' ELSE r.status END FROM {names["run"]} r
                     WHERE r.conversation_id = c.id AND r.status IN ('running', 'awaiting_approval')),
                    (SELECT CASE WHEN r.status IN ('queued', 'failed') THEN r.status ELSE 'idle' END
                     FROM {names["run"]} r WHERE r.conversation_id = c.id ORDER BY r.id DESC LIMIT 1),
                    'idle'),
                CAST(m.uid AS varchar(36)), k.text, c.active_seq
            FROM {names["conversation"]} c
            LEFT JOIN {names["message"]} m ON m.conversation_id = c.id AND m.status = 'writing'
            LEFT JOIN {names["messagechunk"]} k ON k.message_id = m.id
            WHERE c.id = %s ORDER BY m.id, k.{offset}""",
        "page": f"SELECT seq, type, body, bytes FROM {names['event']}"
        " WHERE conversation_id = %s AND seq > %s AND seq <= %s ORDER BY seq LIMIT %s",
        "news": f"""
            SELECT c.epoch, c.head, c.floor, e.seq, e.type, e.body, e.bytes FROM {names["conversation"]} c
            LEFT JOIN {names["event"]} e ON e.conversation_id = c.id AND e.seq > %s
            WHERE c.id = %s ORDER BY e.seq LIMIT %s""",
        "written": f"""
            SELECT k.{offset}, k.text FROM {names["messagechunk"]} k
            JOIN {names["message"]} m ON m.id = k.message_id
            WHERE m.uid = %s AND m.conversation_id = %s AND k.{offset} >= %s ORDER BY k.{offset}""",
    }


def snapshot(conversation_id: int) -> Snapshot | None:
    """The log's state now, in one statement; None when the conversation is gone.

    While a run is active, a second one reads what it waits for: open approvals and steers.
    """
    connection = db.connection_for(Conversation)
    with connection.cursor() as cursor:
        cursor.execute(_sql(connection.alias)["snapshot"], [conversation_id])
        rows = cursor.fetchall()
    if not rows:
        return None
    epoch, head, floor, trimmed_by, kept_events, kept_bytes, run, *_, active_seq = rows[0]
    written: dict[str, list[str]] = {}
    for row in rows:
        if row[7] is not None:
            written.setdefault(_dashed(row[7]), []).append(row[8] or "")
    return Snapshot(
        epoch=epoch,
        head=head,
        floor=floor,
        run=run,
        trimmed_by=trimmed_by,
        pending=_pending(conversation_id) if active_seq is not None else (),
        partials=[{"message": message, "text": "".join(texts)} for message, texts in written.items()],
        mean_bytes=max(1, kept_bytes // max(1, kept_events)),
    )


def _pending(conversation_id: int) -> list[dict[str, Any]]:
    """Open approvals, then steers that nobody has taken."""
    approvals = [
        {
            "type": "approval",
            "tool_call": str(call.uid),
            "name": call.name,
            "title": call.title or None,
            "arguments": call.arguments,
            "args_hash": call.args_hash,
            "expires_at": timestamp(call.expires_at) if call.expires_at else None,
        }
        for call in turns.pending(conversation_id)
    ]
    return approvals + [
        {"type": "steer", "message": str(message.uid)} for message in log.waiting_steers(conversation_id)
    ]


def page(conversation_id: int, after: int, until: int, mean_bytes: int) -> list[Row]:
    """Events after a seq, up to and with another: about one MiB of them, in one query."""
    connection = db.connection_for(Event)
    limit = max(16, min(_MOST_EVENTS, PAGE_BYTES // mean_bytes))
    with connection.cursor() as cursor:
        cursor.execute(_sql(connection.alias)["page"], [conversation_id, after, until, limit])
        return list(cursor.fetchall())


def whole(rows: list[Row], after: int, floor: int) -> bool:
    """Whether a page holds every event that the log kept after a seq: the anchor, then from the floor on, no holes."""
    seqs = [row[0] for row in rows]
    if not seqs:
        return False
    if after == 0 and seqs[0] == 1:
        after, seqs = 1, seqs[1:]
    if not seqs:
        return True
    first = floor if after == 1 else after + 1
    return seqs[0] == first and seqs[-1] - seqs[0] + 1 == len(seqs)


def news(conversation_id: int, after: int) -> News | None:
    """What was committed after a seq, in one statement; None when the conversation is gone."""
    connection = db.connection_for(Event)
    with connection.cursor() as cursor:
        cursor.execute(_sql(connection.alias)["news"], [after, conversation_id, PAGE_BYTES // (4 * KIB)])
        rows = cursor.fetchall()
    if not rows:
        return None
    return News(rows[0][0], rows[0][1], rows[0][2], [row[3:] for row in rows if row[3] is not None])


def written(conversation_id: int, message: str, offset: int) -> tuple[int, str] | None:
    """The text of a message being written from `offset` (code points) on, and where it starts; None: nothing new."""
    connection = db.connection_for(MessageChunk)
    uid = Message._meta.get_field("uid").get_db_prep_value(message, connection)
    with connection.cursor() as cursor:
        cursor.execute(_sql(connection.alias)["written"], [uid, conversation_id, offset])
        rows = cursor.fetchall()
    return (rows[0][0], "".join(row[1] for row in rows)) if rows else None


def _dashed(uid: str) -> str:
    """SQLite keeps UUIDs without dashes."""
    return uid if "-" in uid else f"{uid[:8]}-{uid[8:12]}-{uid[12:16]}-{uid[16:20]}-{uid[20:]}"
