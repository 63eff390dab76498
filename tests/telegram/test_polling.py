"""The getUpdates loop against the real sandbox: committed first, confirmed afterwards, and never deaf."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import db, inbox
from crossmemory.models import InboundUpdate, Poller
from crossmemory.surfaces.telegram import TelegramSurface, holding, polling
from crossmemory.surfaces.telegram.polling import Polling
from tests.sandbox.conftest import Doors
from tests.sandbox.live import LiveServer
from tests.telegram.conftest import BOT, eventually


@asynccontextmanager
async def polls(surface: TelegramSurface, owner: str = "one") -> AsyncIterator[Polling]:
    loop = Polling(surface, owner, lambda: None)
    job = asyncio.create_task(loop.run())
    yield loop
    loop.stop()
    await asyncio.wait_for(job, 10)


async def stored() -> list[str]:
    rows = InboundUpdate.objects.order_by("pk").values_list("external_id", flat=True)
    return list(map(str, await db.run(list, rows)))


async def has(count: int) -> bool:
    return len(await stored()) >= count


async def state() -> str:
    row = await db.run(lambda: Poller.objects.filter(surface="telegram").first())
    return row.state if row else ""


async def waits(doors: Doors) -> int:
    """How many updates the Bot API would still deliver."""
    from project.sandbox.models import Update

    return await db.run(Update.objects.filter(confirmed=False).count)


async def test_updates_are_stored_confirmed_and_the_row_says_ok(surface: TelegramSurface, doors: Doors) -> None:
    said = await doors.say("hello")
    async with polls(surface):
        assert await eventually(lambda: has(1))
        assert await eventually(lambda: nothing_waits(doors))
        row = await db.run(lambda: Poller.objects.get(surface="telegram", account=BOT))
        assert (row.state, row.offset) == ("ok", said["update_id"] + 1)
        assert row.detail == "@crossmemory_demo_bot"
        assert surface.link_url("A1") == f"{surface.api_url}/open/crossmemory_demo_bot?start=A1"
    row = await db.run(lambda: Poller.objects.get(surface="telegram"))
    assert (row.state, row.owner, row.lease_until) == ("stopped", "", None)


async def nothing_waits(doors: Doors) -> bool:
    return await waits(doors) == 0


async def test_nothing_is_confirmed_that_was_not_committed(
    surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    def full(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("disk full")

    await doors.say("keep me")
    with monkeypatch.context() as patch:
        patch.setattr(inbox, "store_all", full)
        async with polls(surface):
            await asyncio.sleep(1.5)
    assert await waits(doors) == 1
    async with polls(surface):
        assert await eventually(lambda: has(1))


async def test_the_same_update_five_times_is_one_row(surface: TelegramSurface, doors: Doors) -> None:
    await doors.say("once", times=5)
    async with polls(surface):
        assert await eventually(lambda: nothing_waits(doors))
    assert len(await stored()) == 1


async def test_what_was_said_while_the_bot_was_away_is_kept(surface: TelegramSurface, doors: Doors) -> None:
    for number in range(3):
        await doors.say(f"message {number}")
    async with polls(surface):
        assert await eventually(lambda: has(3))


async def stands_at(offset: int) -> bool:
    """The offset is saved after the rows are."""
    return bool(await db.run(Poller.objects.filter(surface="telegram", offset=offset).exists))


async def test_a_lower_id_after_a_quiet_week_is_followed(surface: TelegramSurface, doors: Doors) -> None:
    update = {"update_id": 727000500, "message": {"message_id": 1, "chat": {"id": 5, "type": "private"}}}
    await doors.post("update", update)
    async with polls(surface):
        assert await eventually(lambda: has(1))
        assert await eventually(lambda: nothing_waits(doors))  # else both come at once, the lower one first
    await doors.post("update", {**update, "update_id": 117200040})
    async with polls(surface):
        assert await eventually(lambda: has(2))
        assert await eventually(lambda: stands_at(117200041))
    assert await stored() == ["727000500", "117200040"]


async def test_another_bots_place_is_another(surface: TelegramSurface, doors: Doors) -> None:
    await db.run(Poller.objects.create, surface="telegram", account="7012345678", offset=926000101)
    said = await doors.say("new bot")
    async with polls(surface):
        assert await eventually(lambda: has(1))
    assert await stored() == [str(said["update_id"])]


async def test_a_conflict_is_waited_out_and_said(surface: TelegramSurface, doors: Doors) -> None:
    await doors.post("fault", {"method": "getUpdates", "status": 409, "times": 2})
    await doors.say("still here")

    async def conflict() -> bool:
        return await state() == "conflict"

    async with polls(surface) as loop:
        assert await eventually(conflict)
        assert await eventually(lambda: has(1))
        assert loop.completed_at is not None
    assert "ok" not in await state()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ({"status": 502, "times": 1}, "backing_off"),
        ({"status": 401, "times": 1}, "unauthorised"),
        ({"drop": "before", "times": 1}, "backing_off"),
        ({"status": 429, "retry_after": 1, "times": 1}, "backing_off"),
    ],
)
async def test_trouble_is_said_and_passes(
    surface: TelegramSurface, doors: Doors, fault: dict[str, Any], expected: str
) -> None:
    await doors.post("fault", {"method": "getUpdates", **fault})
    await doors.say("hello")

    async def said() -> bool:
        row = await db.run(lambda: Poller.objects.filter(surface="telegram").first())
        return row is not None and row.state == expected and row.detail != "@crossmemory_demo_bot"

    async with polls(surface):
        assert await eventually(said)
        assert await eventually(lambda: has(1))
    assert surface.token not in (await db.run(lambda: Poller.objects.get(surface="telegram"))).detail


async def test_a_poll_that_hangs_without_a_word_is_given_up(
    surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polling, "POLL_SECONDS", 1)
    monkeypatch.setattr(polling, "_MARGIN_SECONDS", 0.5)
    await doors.post("fault", {"method": "getUpdates", "delay": 60, "times": 1})
    await doors.say("hello")
    async with polls(surface):
        assert await eventually(lambda: has(1))


async def test_start_up_waits_for_a_server_that_is_down(
    surface: TelegramSurface, server: LiveServer, doors: Doors
) -> None:
    await doors.say("hello")
    server.stop()
    async with polls(surface):
        await asyncio.sleep(1)
        assert await state() == "backing_off"
        server._start()
        assert await eventually(lambda: has(1))


async def test_a_second_process_waits_for_the_lease_and_takes_it_over(
    surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    dead = {"owner": "dead", "lease_until": timezone.now() + timedelta(seconds=3), "attempt": 4, "state": "ok"}
    await db.run(Poller.objects.create, surface="telegram", account=BOT, **dead)
    monkeypatch.setattr(holding, "LEASE_SECONDS", 2)
    await doors.say("hello")
    async with polls(surface, "two"):
        await asyncio.sleep(1)
        assert await stored() == []
        assert await eventually(lambda: has(1))
        row = await db.run(lambda: Poller.objects.get(surface="telegram"))
        assert (row.owner, row.attempt) == ("two", 5)


async def test_a_process_that_lost_its_lease_stops_polling(
    surface: TelegramSurface, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holding, "RENEW_SECONDS", 0.1)
    async with polls(surface, "old"):
        await eventually(lambda: is_ok())
        later = timezone.now() + timedelta(minutes=5)
        await db.run(Poller.objects.filter(surface="telegram").update, owner="new", attempt=9, lease_until=later)
        await asyncio.sleep(0.5)
        await doors.say("for the new one")
        await asyncio.sleep(0.7)
        assert await stored() == []
    row = await db.run(lambda: Poller.objects.get(surface="telegram"))
    assert (row.owner, row.attempt) == ("new", 9)


async def is_ok() -> bool:
    return await state() == "ok"
