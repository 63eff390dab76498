"""The JSON objects of the API, made from rows. Pure: what a shape needs was read before."""

import uuid
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from crossmemory.api.places import Places
from crossmemory.conf import surface_label
from crossmemory.events import timestamp
from crossmemory.markup import to_html
from crossmemory.memory import LeftOut, Remembered
from crossmemory.models import Conversation, LinkCode, Message, SurfaceLink
from crossmemory.pausing import Pauses

Json = dict[str, Any]


def when(moment: datetime | None) -> str | None:
    return None if moment is None else timestamp(moment)


def conversation(row: Conversation, places: Places, pauses: Pauses, run: str = "idle", unread: int = 0) -> Json:
    place, paused = places[row.surface], pauses.over(row.agent, row.surface)
    return {
        "id": str(row.uid),
        "title": row.title,
        "surface": row.surface,
        "surface_label": place.label,
        "agent": row.agent,
        "singleton": row.singleton,
        "read_only": not place.primary,
        "open_url": place.open_url,
        "shared": row.shared,
        "reads": row.reads,
        "head": row.head,
        "read_seq": row.read_seq,
        "unread": unread,
        "run": run,
        "paused": paused.words if paused else None,
        "created_at": when(row.created_at),
        "updated_at": when(row.updated_at),
    }


def message(row: Message, surface: str, written: str) -> Json:
    """A message of the feed; `written` is the text so far of one that is being written."""
    text = {Message.Status.WRITING: written, Message.Status.REDACTED: ""}.get(Message.Status(row.status), row.text)
    done = row.status not in (Message.Status.WRITING, Message.Status.REDACTED)
    return {
        "id": str(row.uid),
        "seq": row.seq,
        "role": row.role,
        "text": text,
        "html": to_html(text) if done and row.role == Message.Role.ASSISTANT else None,
        "parts": row.parts if done else None,
        "status": row.status,
        "actor": {"type": row.author_kind, "id": row.author_id},
        "surface": surface,
        "client_id": row.client_id,
        "run": str(row.run.uid) if row.run else None,
        "saw": saw(row.run.manifest) if row.run and row.role == Message.Role.ASSISTANT else None,
        "at": when(row.created_at),
        "sent_at": when(row.sent_at),
    }


def saw(manifest: Mapping[str, Any] | None) -> Json | None:
    """The summary of a stored manifest: how much the assistant saw, and from where."""
    if manifest is None:
        return None
    used = manifest.get("used", ())
    counts: dict[str, int] = {}
    for entry in used:
        if not entry["own"]:
            counts[entry["surface"]] = counts.get(entry["surface"], 0) + 1
    return {
        "count": len(used),
        "elsewhere": [
            {"surface": alias, "label": surface_label(alias), "count": count} for alias, count in counts.items()
        ],
        "left_out": len(manifest.get("left_out", ())),
        "missing": bool(manifest.get("missing")),
    }


def remembered(found: Remembered, message_uid: uuid.UUID, conversation_uid: uuid.UUID) -> Json:
    """A message as the assistant sees it."""
    return {
        "id": str(message_uid),
        "role": found.role,
        "text": found.text,
        "surface": found.surface,
        "surface_label": found.label,
        "own": found.own,
        "at": when(found.at),
        "conversation": str(conversation_uid),
    }


def left_out(entries: Iterable[LeftOut], uids: Mapping[int, uuid.UUID]) -> list[Json]:
    """What the assistant does not see, and why, in one word: `count`, `not_shared`, `unfinished`, …"""
    return [
        {"id": str(uids[entry.id]), "reason": entry.reason.replace(" ", "_")} for entry in entries if entry.id in uids
    ]


def account(link: SurfaceLink, places: Places) -> Json:
    return {
        "id": str(link.uid),
        "surface": link.surface,
        "label": surface_label(link.surface),
        "name": link.name,
        "status": link.status,
        "sharing": link.sharing,
        "approvals": link.approvals,
        "has_buttons": places[link.surface].has_buttons,
        "created_at": when(link.created_at),
    }


def code(plain: str, row: LinkCode, url: str | None) -> Json:
    return {"code": plain, "url": url, "expires_at": when(row.expires_at), "surface": row.surface}
