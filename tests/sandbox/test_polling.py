"""getUpdates, with the real python-telegram-bot client against a real server."""

import asyncio
import time

import pytest
from telegram import Bot
from telegram.error import Conflict, InvalidToken

from tests.sandbox.conftest import Doors, bot_for
from tests.sandbox.live import LiveServer


async def test_get_me_names_the_bot(bot: Bot) -> None:
    assert (bot.id, bot.username) == (7000000001, "crossmemory_demo_bot")


async def test_a_command_arrives_as_telegram_would_send_it(bot: Bot, doors: Doors) -> None:
    said = await doors.say("/start A1b2", language_code="es")
    (update,) = await bot.get_updates()
    assert update.update_id == said["update_id"]
    assert update.message.message_id == said["message_id"]
    assert update.message.chat.id == update.effective_user.id == 5001
    assert update.effective_user.language_code == "es"
    assert list(update.message.parse_entities()) == list(update.message.entities)
    assert list(update.message.parse_entities(["bot_command"]).values()) == ["/start"]


async def test_an_update_in_mid_poll_is_returned_at_once(bot: Bot, doors: Doors) -> None:
    poll = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.3)
    begun = time.monotonic()
    await doors.say("hello")
    assert [u.message.text for u in await poll] == ["hello"]
    assert time.monotonic() - begun < 1


async def test_an_empty_poll_ends_after_its_timeout(bot: Bot) -> None:
    begun = time.monotonic()
    assert await bot.get_updates(timeout=1) == ()
    assert 0.9 < time.monotonic() - begun < 2.5


async def test_unconfirmed_updates_come_again_and_confirmed_ones_do_not(bot: Bot, doors: Doors) -> None:
    first, second = (await doors.say("one"))["update_id"], (await doors.say("two"))["update_id"]
    for _ in range(2):
        assert [u.update_id for u in await bot.get_updates()] == [first, second]
    assert [u.update_id for u in await bot.get_updates(offset=second)] == [second]
    assert [u.update_id for u in await bot.get_updates()] == [second]
    assert await bot.get_updates(offset=second + 1) == ()


async def test_limit_and_negative_offset(bot: Bot, doors: Doors) -> None:
    ids = [(await doors.say(str(n)))["update_id"] for n in range(4)]
    assert [u.update_id for u in await bot.get_updates(limit=2)] == ids[:2]
    assert [u.update_id for u in await bot.get_updates(offset=-1)] == ids[3:]
    assert [u.update_id for u in await bot.get_updates()] == ids[3:]


async def test_allowed_updates_are_remembered(bot: Bot, doors: Doors) -> None:
    said = await doors.say("one")
    await doors.post("edit", {"user_id": 5001, "message_id": said["message_id"], "text": "two"})
    await bot.get_updates(allowed_updates=["edited_message"])
    (update,) = await bot.get_updates()
    assert update.edited_message.text == "two"
    assert len(await bot.get_updates(allowed_updates=[])) == 2


async def test_the_older_poll_ends_with_409(server: LiveServer, bot: Bot, doors: Doors) -> None:
    async with bot_for(server) as other:
        older = asyncio.create_task(bot.get_updates(timeout=20))
        await asyncio.sleep(0.3)
        newer = asyncio.create_task(other.get_updates(timeout=20))
        with pytest.raises(Conflict, match="terminated by other getUpdates request"):
            await older
        await doors.say("for the newer")
        assert [u.message.text for u in await newer] == ["for the newer"]


async def test_no_polling_beside_a_webhook(bot: Bot) -> None:
    await bot.set_webhook("https://example.org/hook", secret_token="s")
    assert (await bot.get_webhook_info()).url == "https://example.org/hook"
    with pytest.raises(Conflict, match="webhook is active"):
        await bot.get_updates()
    await bot.delete_webhook()
    assert await bot.get_updates() == ()


async def test_the_same_update_is_delivered_as_often_as_it_was_given(bot: Bot, doors: Doors) -> None:
    said = await doors.say("once", times=5)
    updates = await bot.get_updates()
    assert [u.update_id for u in updates] == [said["update_id"]] * 5
    offset = said["update_id"] + 1
    assert await bot.get_updates(offset=offset) == ()
    raw = updates[0].to_dict()
    assert await doors.post("update", raw) == {"update_id": said["update_id"]}
    assert [u.update_id for u in await bot.get_updates(offset=offset)] == [said["update_id"]]
    assert await bot.get_updates(offset=offset) == ()


async def test_a_lower_id_is_delivered_after_the_counter_restarted(bot: Bot, doors: Doors) -> None:
    said = await doors.say("before the quiet week")
    await bot.get_updates(offset=said["update_id"] + 1)
    await doors.post("update", {"update_id": 12, "message": message("after it")})
    (update,) = await bot.get_updates(offset=said["update_id"] + 1)
    assert (update.update_id, update.message.text) == (12, "after it")


async def test_nothing_is_lost_by_a_restart(server: LiveServer, bot: Bot, doors: Doors) -> None:
    first = await doors.say("kept")
    await bot.send_message(5001, "kept too")
    await doors.post("fault", {"method": "sendMessage", "status": 500})
    server.restart()
    assert [u.update_id for u in await bot.get_updates()] == [first["update_id"]]
    assert await doors.texts() == ["kept too"]
    assert len((await doors.get("faults"))["faults"]) == 1
    assert (await doors.say("next"))["update_id"] == first["update_id"] + 1


async def test_a_wrong_secret_and_a_malformed_token_are_unauthorized(server: LiveServer, bot: Bot) -> None:
    for token in ("7000000001:another-secret", "no-token"):
        with pytest.raises(InvalidToken):
            async with bot_for(server, token):
                pass


def message(text: str) -> dict[str, object]:
    person = {"id": 5001, "is_bot": False, "first_name": "Ana"}
    chat = {"id": 5001, "type": "private", "first_name": "Ana"}
    return {"message_id": 900, "from": person, "chat": chat, "date": 1_700_000_000, "text": text}


async def test_many_people_at_once_get_an_id_each(bot: Bot, doors: Doors) -> None:
    sent = await asyncio.gather(*(doors.say(str(n), user_id=5001 + n % 3) for n in range(40)))
    assert len({said["update_id"] for said in sent}) == 40
    updates = await bot.get_updates()
    assert len({(u.message.chat.id, u.message.message_id) for u in updates}) == 40


async def test_a_client_that_went_away_takes_nothing_along(bot: Bot, doors: Doors) -> None:
    gone = asyncio.create_task(bot.get_updates(timeout=20))
    await asyncio.sleep(0.3)
    gone.cancel()
    await asyncio.gather(gone, return_exceptions=True)
    await doors.say("still here")
    assert [u.message.text for u in await bot.get_updates(timeout=5)] == ["still here"]
