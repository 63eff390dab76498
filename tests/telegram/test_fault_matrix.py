"""Every fault against every call that the bot makes, through the sandbox: docs/telegram.md has what comes of it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crossmemory import db
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import Destination, Inbound, Piece
from crossmemory.surfaces.telegram import TelegramSurface, client, polling, sending
from crossmemory.surfaces.telegram.place import Place
from crossmemory.surfaces.telegram.polling import Polling
from tests.sandbox.conftest import Doors
from tests.telegram.conftest import ANA, BOT, eventually

DOC = Path(__file__).resolve().parents[2] / "docs/telegram.md"
#: what the sandbox does, by the words of the table; patience is short here: an answer may take a second
FAULTS: dict[str, dict[str, Any]] = {
    "401 Unauthorized": {"status": 401},
    "403 Forbidden": {"status": 403},
    "409 Conflict": {"status": 409},
    "429 with `retry_after`": {"status": 429, "retry_after": 1},
    "500": {"status": 500},
    "502": {"status": 502},
    "no answer, nothing was done": {"drop": "before", "delay": 2.5},
    "no answer, it was done": {"drop": "after", "delay": 2.5},
    "connection reset, nothing was done": {"drop": "before"},
    "connection reset, it was done": {"drop": "after"},
    "the answer trickles": {"drop": "slow", "delay": 0.6},
    "the answer trickles for ever": {"drop": "slow", "delay": 6},
    "the answer is no JSON": {"drop": "broken"},
}
FATES = {
    "sent": "sent",
    "retry": "again later",
    "rate_limited": "after that time",
    "blocked": "no more until they write",
    "unknown": "once more, labelled",
}


def table() -> dict[str, list[str]]:
    """The rows of the page: the fault, and what comes of it in each column."""
    section = DOC.read_text().partition("| fault | `getUpdates`")[2].partition("\n\n")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in section.splitlines()[2:]]
    return {row[0]: row[1:] for row in rows}


@pytest.fixture(autouse=True)
async def _short(surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_SECONDS", 1)
    monkeypatch.setattr(polling, "POLL_SECONDS", 1)
    monkeypatch.setattr(polling, "_MARGIN_SECONDS", 2)
    monkeypatch.setattr(sending, "_ALTOGETHER_SECONDS", 3)
    monkeypatch.setattr(sending, "_ACKNOWLEDGE_SECONDS", 1.5)
    await doors.say("hello")


async def polled(surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch) -> str:
    """What is said of it meanwhile; what came is stored once all the same."""
    said: list[str] = []
    note = Place.note

    def noted(self: Place, state: str, trouble: str = "") -> bool:
        said.append(str(state))
        return note(self, state, trouble)

    monkeypatch.setattr(Place, "note", noted)
    loop = Polling(surface, "one", lambda: None)
    job = asyncio.create_task(loop.run())

    async def stored() -> bool:
        return await db.run(InboundUpdate.objects.count) == 1 and loop._state == "ok"

    assert await eventually(stored)
    loop.stop()
    await job
    return f"`{said[0]}`" if said else "`ok`"


async def sent(surface: TelegramSurface, doors: Doors, piece: Piece) -> str:
    return FATES[(await surface.deliver(Destination("telegram", BOT, str(ANA)), piece)).fate]


def test_the_page_has_every_fault() -> None:
    assert list(table()) == list(FAULTS)


@pytest.mark.parametrize("fault", FAULTS)
async def test_get_updates(surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    await doors.post("fault", {"method": "getUpdates", **FAULTS[fault]})
    assert await polled(surface, doors, monkeypatch) == table()[fault][0]


@pytest.mark.parametrize("fault", FAULTS)
async def test_send_message(surface: TelegramSurface, doors: Doors, fault: str) -> None:
    await doors.post("fault", {"method": "sendMessage", **FAULTS[fault]})
    word = await sent(surface, doors, Piece("words"))
    assert word == table()[fault][1]
    arrived = len(await doors.texts(ANA))
    if word in ("again later", "after that time", "no more until they write"):
        assert arrived == 0  # else the second one would double it unsaid
    if word == "sent":
        assert arrived == 1


@pytest.mark.parametrize("fault", FAULTS)
async def test_edit_message_text(surface: TelegramSurface, doors: Doors, fault: str) -> None:
    first = await surface.deliver(Destination("telegram", BOT, str(ANA)), Piece("before"))
    await doors.post("fault", {"method": "editMessageText", **FAULTS[fault]})
    assert await sent(surface, doors, Piece("after", {"edits": first.external_id})) == table()[fault][2]


@pytest.mark.parametrize("fault", FAULTS)
async def test_answer_callback_query(surface: TelegramSurface, doors: Doors, fault: str) -> None:
    """Never an error, never long: the press is stored, and counts."""
    await doors.post("fault", {"method": "answerCallbackQuery", **FAULTS[fault]})
    async with asyncio.timeout(3):
        await surface.acknowledge(Inbound("button", press="1"))
    assert table()[fault][3] == "the press counts"
