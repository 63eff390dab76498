"""A bot's process: the library's client fetches recorded updates, the inbox keeps them, the worker handles them."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crossmemory.intake.worker import InboxWorker
from crossmemory.models import Delivery, InboundUpdate, Message, Run
from crossmemory.surfaces import surfaces
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.polling import Polling
from tests.telegram import canned
from tests.telegram.canned import Canned

FILE = Path(__file__).parents[1] / "telegram" / "fixtures" / "updates.jsonl"
RECORDED = {record["name"]: record for record in map(json.loads, FILE.read_text().splitlines())}
BOT = "7012345678"


@dataclass
class World:
    """What came, and what has become of it."""

    server: Canned
    names: list[str] = field(default_factory=list)

    @property
    def last(self) -> dict[str, Any]:
        return dict(RECORDED[self.names[-1]]["update"])

    def row(self, name: str) -> InboundUpdate:
        return InboundUpdate.objects.get(external_id=str(RECORDED[name]["update"]["update_id"]))

    def said(self) -> list[str]:
        return list(Message.objects.filter(role="user").order_by("pk").values_list("text", flat=True))

    def told(self, chat: Any = None) -> list[str]:
        rows = Delivery.objects.exclude(inbound=None).order_by("pk")
        return [row.payload["text"] for row in rows if chat is None or row.chat == str(chat)]

    def destination(self) -> dict[str, str]:
        found = Run.objects.get().destination
        assert found is not None
        return found


async def come(world: World, *names: str) -> None:
    """These updates wait at the platform, twice each; a bot begins, works through them, and ends."""
    updates = [RECORDED[name]["update"] for name in names]
    world.names += names
    handed_out: list[Any] = []

    def answer(name: str, parameters: dict[str, Any]) -> Any:
        match name:
            case "getme":
                return canned.fine(canned.ME)
            case "getupdates" if not handed_out:
                handed_out.append(parameters)
                return canned.fine([*updates, *updates])
            case "getupdates":
                handed_out.append(parameters)
                loop.stop()
                return None
            case "getfile":
                file = {"file_id": "x", "file_unique_id": "u", "file_size": 7, "file_path": "content"}
                return canned.fine(file)
            case "content":
                return 200, b"content"
            case _:
                return canned.fine(True)

    world.server.answer = answer
    worker = InboxWorker("telegram", BOT)
    surface = surfaces["telegram"]
    assert isinstance(surface, TelegramSurface)
    loop = Polling(surface, "test", worker.wake)
    async with asyncio.timeout(20):
        await loop.run()
        worker.stop()
        await worker.run()
    assert [each.get("offset") for each in handed_out] == [None, updates[-1]["update_id"] + 1]
