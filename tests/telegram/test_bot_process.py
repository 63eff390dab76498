"""The real bot command as a process, the real sandbox over HTTP."""

import asyncio
import json
import signal
from typing import Any

import pytest

from crossmemory import db, linking
from crossmemory.models import Delivery, Message, Poller, Run
from tests.sandbox.conftest import Doors
from tests.telegram.bot_process import BotProcess
from tests.telegram.conftest import ANA, arrived, eventually, running, settled

pytestmark = pytest.mark.processes


async def test_what_is_said_is_answered(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start()
    await doors.say("My cat is called Miso.")
    assert len(await arrived(doors)) == 1
    await doors.say("What is my cat called?")
    assert "Miso" in (await arrived(doors, 2))[1]
    bot.signal(signal.SIGTERM)
    assert await bot.ended() == 0
    assert "7000000001:" not in bot.words()


async def test_a_command_asks_with_buttons_and_an_edit_may_be_answered_again(
    bot: BotProcess, doors: Doors, ana: Any
) -> None:
    bot.start()
    said = await doors.say("My dog is called Rex.")
    await arrived(doors)
    await doors.say("/forget rex")
    asks = (await arrived(doors, 2))[1]
    assert "Shall I delete" in asks
    await doors.post("edit", {"user_id": ANA, "message_id": said["message_id"], "text": "My cat is called Miso."})
    assert "/again" in (await arrived(doors, 3))[2]
    for beginning, label in [("Shall I delete", "No"), ("You have changed", "Answer again")]:
        sent = (await doors.get("outbox", chat_id=ANA))["messages"]
        (message,) = [each for each in sent if each["text"].startswith(beginning)]
        (data,) = [
            button["callback_data"]
            for row in message["reply_markup"]["inline_keyboard"]
            for button in row
            if button["text"] == label
        ]
        await doors.post("press", {"user_id": ANA, "message_id": message["message_id"], "data": data})
    assert "Nothing was changed." in (await arrived(doors, 5))[3:]
    assert await db.run(Message.objects.filter(role="assistant").count) == 2
    question = next(m for m in (await doors.get("outbox", chat_id=ANA))["messages"] if m["text"] == asks)
    assert not question.get("reply_markup")


async def test_a_stranger_links_and_is_known(bot: BotProcess, doors: Doors, user: Any) -> None:
    bot.start()
    code, _ = await db.run(linking.create_code, user, "telegram", "both")
    await doors.say(f"/start {code}")
    assert "confirm" in (await arrived(doors))[0]
    (pending,) = await db.run(linking.accounts, user)
    await db.run(linking.confirm, user, pending.uid)
    assert "Connected" in (await arrived(doors, 2))[1]
    await doors.say("hello")
    assert len(await arrived(doors, 3)) == 3


async def test_the_same_update_five_times_is_answered_once(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start()
    await doors.say("only once please", times=5)
    assert len(await settled(doors)) == 1
    assert await db.run(Message.objects.filter(role="user").count) == 1


async def test_killed_between_fetch_and_reply_it_answers_once_after_the_restart(
    bot: BotProcess, doors: Doors, ana: Any
) -> None:
    bot.start(TEST_PACE="0.5")
    await doors.say("What do you remember about me?")

    assert await eventually(running)
    assert await doors.texts(ANA) == []
    await bot.kill()
    bot.start()
    assert len(await settled(doors)) == 1
    assert await db.run(Message.objects.filter(role="user").count) == 1


async def test_killed_over_and_over_it_loses_and_doubles_nothing(bot: BotProcess, doors: Doors, ana: Any) -> None:
    texts = [f"question {number}" for number in range(4)]
    for number, text in enumerate(texts):
        bot.start(TEST_PACE="0.02")
        await doors.say(text)
        await asyncio.sleep(0.9 + 0.25 * number)
        await bot.kill()
    bot.start()
    await settled(doors)
    said = await db.run(list, Message.objects.filter(role="user").order_by("pk").values_list("text", flat=True))
    assert said == texts
    lost = await db.run(list, Delivery.objects.exclude(status__in=["sent", "unknown"]).values_list("status", flat=True))
    assert lost == []
    labelled = [text for text in await doors.texts(ANA) if "received this already" in text]
    assert len(await doors.texts(ANA)) - len(labelled) <= len(texts)


async def test_a_second_process_waits_and_sigterm_hands_over(bot: BotProcess, doors: Doors, ana: Any) -> None:
    other = bot.another()
    bot.start()
    await doors.say("one")
    await arrived(doors)
    other.start()
    await asyncio.sleep(2)
    bot.signal(signal.SIGTERM)
    assert await bot.ended() == 0
    await doors.say("two")
    try:
        assert len(await arrived(doors, 2)) == 2
        assert len(await settled(doors)) == 2
    finally:
        other.signal(signal.SIGTERM)
        assert await other.ended() == 0


async def test_typing_is_shown_while_an_answer_is_written(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start(TEST_PACE="0.3")
    await doors.say("What do you remember about me?")

    async def typing() -> bool:
        return (await doors.get("chat", chat_id=ANA))["action"] == "typing"

    assert await eventually(typing)


async def test_sigterm_lets_the_answer_under_way_finish(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start(TEST_PACE="0.1")
    await doors.say("What do you remember about me?")

    assert await eventually(running)
    bot.signal(signal.SIGTERM)
    assert await bot.ended() == 0
    assert len(await doors.texts(ANA)) == 1
    assert (await db.run(Poller.objects.get)).state == "stopped"


async def test_a_second_signal_ends_it_at_once(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start("--grace", "30", TEST_PACE="3")
    await doors.say("What do you remember about me?")

    assert await eventually(running)
    bot.signal(signal.SIGTERM)
    await asyncio.sleep(0.5)
    bot.signal(signal.SIGTERM)
    assert await bot.ended(2) == 128 + signal.SIGTERM


async def test_an_answer_that_was_accepted_without_a_word_goes_once_more_labelled(
    bot: BotProcess, doors: Doors, ana: Any
) -> None:
    await doors.post("fault", {"method": "sendMessage", "drop": "after"})
    bot.start()
    await doors.say("hello")
    first, second = await settled(doors)
    assert second == f"(You may have received this already.)\n\n{first}"


async def test_without_a_runner_answers_are_left_to_others(bot: BotProcess, doors: Doors, ana: Any) -> None:
    bot.start("--no-runner")
    await doors.say("hello")

    async def queued() -> bool:
        return await db.run(Run.objects.filter(status="queued").exists)

    assert await eventually(queued)
    await asyncio.sleep(3)
    assert await queued()


async def test_the_library_has_nothing_to_warn_about(bot: BotProcess, doors: Doors, ana: Any) -> None:
    await doors.post("fault", {"method": "sendMessage", "status": 429, "retry_after": 1})
    await doors.say("hello")
    bot.start(PYTHONWARNINGS="default")
    assert len(await arrived(doors)) == 1
    assert "PTBDeprecationWarning" not in bot.words()


async def test_health_and_exit_codes(bot: BotProcess, doors: Doors, ana: Any) -> None:
    assert bot.manage("crossmemory_health").returncode == 1
    bot.start()
    await doors.say("hello")
    await arrived(doors)
    healthy = bot.manage("crossmemory_health", "--json")
    assert healthy.returncode == 0, healthy.stdout
    (telegram,) = json.loads(healthy.stdout)["surfaces"]
    assert (telegram["state"], telegram["dead"], telegram["failed"]) == ("ok", 0, 0)
    bot.env["TELEGRAM_BOT_TOKEN"] = "no token"
    assert bot.manage("crossmemory_health").returncode == 2
    refused = bot.manage("run_telegram_bot")
    assert refused.returncode == 2
    assert "BotFather" in refused.stderr


async def test_a_process_takes_over_from_one_that_was_killed(bot: BotProcess, doors: Doors, ana: Any) -> None:
    other = bot.another()
    bot.start()
    await doors.say("one")
    await arrived(doors)
    other.start()
    try:
        await bot.kill()
        await doors.say("two")
        assert len(await arrived(doors, 2)) == 2  # within 30 seconds, with the leases as they are
    finally:
        other.signal(signal.SIGTERM)
        assert await other.ended() == 0


async def test_a_process_that_sleeps_through_its_leases_doubles_nothing(
    bot: BotProcess, doors: Doors, ana: Any
) -> None:
    """Stopped in mid-answer, and let go on when another process has done its work."""
    bot.env["DJANGO_SETTINGS_MODULE"] = "tests.telegram.kill_settings"  # for its short leases
    other = bot.another()
    bot.start()
    await doors.say("question 1;")

    assert await eventually(running)
    bot.signal(signal.SIGSTOP)
    other.start()
    try:
        assert await settled(doors) == ["Answer to question 1;"]
        bot.signal(signal.SIGCONT)
        await doors.say("question 2;")
        assert len(await arrived(doors, 2)) == 2
        await asyncio.sleep(3)  # longer than what it had in hand when it slept
        assert await doors.texts(ANA) == ["Answer to question 1;", "Answer to question 2;"]
        assert await db.run(Message.objects.filter(role="assistant").count) == 2
        assert (await db.run(Run.objects.order_by("pk").first)).attempt == 2
    finally:
        bot.signal(signal.SIGCONT)
        for each in (bot, other):
            each.signal(signal.SIGTERM)
            assert await each.ended() == 0
