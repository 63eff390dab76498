"""Planned failures as python-telegram-bot sees them."""

import time

import pytest
from telegram import Bot
from telegram.error import BadRequest, ChatMigrated, NetworkError, RetryAfter, TimedOut

from tests.sandbox.conftest import Doors


@pytest.fixture(autouse=True)
async def _ana_has_written(doors: Doors) -> None:
    await doors.say("hello")


async def test_a_rate_limit_says_how_long_and_ends(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "status": 429, "retry_after": 3, "times": 2})
    for _ in range(2):
        with pytest.raises(RetryAfter) as limit:
            await bot.send_message(5001, "one")
        assert getattr(limit.value.retry_after, "seconds", limit.value.retry_after) == 3
    await bot.send_message(5001, "one")
    assert await doors.texts() == ["one"]


async def test_dropped_before_nothing_was_sent(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "drop": "before"})
    with pytest.raises(NetworkError):
        await bot.send_message(5001, "lost")
    assert await doors.texts() == []


async def test_dropped_after_the_message_was_sent_all_the_same(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "drop": "after"})
    with pytest.raises(NetworkError):
        await bot.send_message(5001, "arrived")
    assert await doors.texts() == ["arrived"]


async def test_a_slow_answer_after_the_act_is_a_time_out_of_unknown_fate(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "drop": "after", "delay": 5})
    with pytest.raises(TimedOut):
        await bot.send_message(5001, "arrived", read_timeout=0.5)
    assert await doors.texts() == ["arrived"]


async def test_a_delay_alone_only_delays(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "delay": 0.5})
    begun = time.monotonic()
    await bot.send_message(5001, "late")
    assert time.monotonic() - begun >= 0.5


async def test_a_fault_for_one_chat_spares_the_others(bot: Bot, doors: Doors) -> None:
    await doors.say("me too", user_id=5002)
    await doors.post("fault", {"method": "*", "status": 400, "chat_id": 5001, "times": None})
    with pytest.raises(BadRequest):
        await bot.send_message(5001, "no")
    await bot.send_message(5002, "yes")
    assert await doors.delete("fault") == {"cleared": 1}
    await bot.send_message(5001, "yes")


async def test_a_group_that_moved_and_a_server_that_fails(bot: Bot, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendmessage", "migrate_to_chat_id": -1001})
    with pytest.raises(ChatMigrated):
        await bot.send_message(5001, "x")
    await doors.post("fault", {"method": "getUpdates", "status": 502})
    with pytest.raises(NetworkError, match="Bad Gateway"):
        await bot.get_updates()
    assert (await doors.get("faults"))["faults"] == []


@pytest.mark.parametrize(
    ("plan", "word"),
    [
        ({"method": "sendMessage"}, "needs a status"),
        ({"status": 200}, "status"),
        ({"status": 500, "times": 0}, "times"),
        ({"drop": "sideways"}, "drop"),
        ({"delay": "long"}, "delay"),
        ({"method": 5, "status": 500}, "method"),
    ],
)
async def test_a_plan_that_makes_no_sense_is_refused(doors: Doors, plan: dict[str, object], word: str) -> None:
    assert word in (await doors.post("fault", plan, status=400))["error"]
