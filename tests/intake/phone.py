"""A person's phone: what it sends arrives as updates and is handled; what it is told stands in the outbox."""

import asyncio
import json
from typing import Any

from crossmemory import db, inbox
from crossmemory.intake.worker import InboxWorker, handle_or_retry
from crossmemory.models import Delivery, InboundUpdate, Run

BOT = "7000000001"
PERSON = 5987654321

_next = iter(range(810000, 10**9))


def body(text: str | None = "hello", sender: int = PERSON, language: str = "en", **fields: Any) -> dict[str, Any]:
    """A message as the platform has it, with the next number."""
    return {
        "message_id": next(_next),
        "date": 1767225637,
        "from": {"id": sender, "is_bot": False, "first_name": "Ines", "language_code": language},
        "chat": {"id": sender, "type": "private"},
        **({} if text is None else {"text": text}),
        **fields,
    }


def store(content: dict[str, Any], kind: str = "message") -> str:
    """An update arrives and waits; returns its id."""
    update_id = str(next(_next))
    sender = content.get("from") or content.get("user") or {}
    raw = json.dumps({"update_id": int(update_id), kind: content}).encode()
    assert inbox.store("telegram", BOT, update_id, kind, raw, str(sender.get("id", "")))
    return update_id


def found(update_id: str) -> InboundUpdate:
    return InboundUpdate.objects.get(external_id=update_id)


def handled(content: dict[str, Any], kind: str = "message") -> InboundUpdate:
    """An update arrives and is handled."""
    update_id = store(content, kind)
    handle_or_retry(found(update_id))
    return found(update_id)


def arrive(text: str | None = "hello", sender: int = PERSON, language: str = "en", **fields: Any) -> InboundUpdate:
    """Somebody sends a message."""
    return handled(body(text, sender, language, **fields))


def edit(message: dict[str, Any], **changes: Any) -> InboundUpdate:
    """Somebody edits a message (as `body` made it)."""
    return handled({**message, "edit_date": 1767225700, **changes}, "edited_message")


def press(data: str, sender: int = PERSON) -> InboundUpdate:
    """Somebody presses a button."""
    query = {
        "id": "1",
        "from": {"id": sender, "is_bot": False, "first_name": "Ines", "language_code": "en"},
        "message": {"message_id": 1, "date": 1767225637, "chat": {"id": sender, "type": "private"}},
        "data": data,
    }
    return handled(query, "callback_query")


def told(sender: int = PERSON) -> list[str]:
    """The notices that somebody got, without those whose words were forgotten."""
    rows = Delivery.objects.filter(chat=str(sender), message=None).order_by("pk")
    return [row.payload["text"] for row in rows if row.payload and "edits" not in row.payload]


def buttons(sender: int = PERSON) -> dict[str, str]:
    """Below the newest notice: what stands on each button, and its data."""
    notices = Delivery.objects.filter(chat=str(sender), message=None).order_by("-pk")
    row = next(row for row in notices if "edits" not in row.payload)
    return {each["text"]: each["data"] for line in row.payload.get("buttons", []) for each in line}


async def work(seconds: float = 10) -> None:
    """The worker goes through what waits, until nothing does."""
    worker = InboxWorker("telegram", BOT)
    job = asyncio.create_task(worker.run())
    waiting = InboundUpdate.objects.filter(status="received")
    async with asyncio.timeout(seconds):
        while await db.run(waiting.exists):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    worker.stop()
    await job


def claimed() -> Run:
    """Somebody begins with the run that waits."""
    from crossmemory import turns

    Run.objects.filter(status="queued").update(not_before=None)
    run = turns.claim(Run.objects.get(status="queued").pk, "test", lambda *args: None)
    assert run is not None
    return run
