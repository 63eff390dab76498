"""What a bot may send and what is refused, in the words of the real server."""

import httpx
import pytest
from telegram import Bot, BotCommand, InlineKeyboardButton, InlineKeyboardMarkup, MessageEntity, ReplyParameters
from telegram.error import BadRequest, Forbidden

from tests.sandbox.conftest import TOKEN, Doors
from tests.sandbox.live import LiveServer

KEYS = InlineKeyboardMarkup([[InlineKeyboardButton("Approve", callback_data="yes")]])


@pytest.fixture
async def chat(doors: Doors) -> int:
    """Ana has written to the bot, so it may write to her."""
    await doors.say("/start")
    return 5001


@pytest.mark.parametrize("filling", ["a", "é", "😀"])
async def test_4096_utf_16_units_fit_and_one_more_does_not(bot: Bot, chat: int, filling: str) -> None:
    size = len(filling.encode("utf-16-le")) // 2
    text = filling * (4096 // size)
    assert (await bot.send_message(chat, text)).text == text
    with pytest.raises(BadRequest, match="Message is too long"):
        await bot.send_message(chat, text + "x")


@pytest.mark.parametrize("text", ["", "  \n ", "\x00"])
async def test_nothing_to_read_is_refused(bot: Bot, chat: int, text: str) -> None:
    with pytest.raises(BadRequest, match="Message text is empty"):
        await bot.send_message(chat, text)


async def test_entities_are_kept_and_links_found(bot: Bot, doors: Doors, chat: int) -> None:
    bold = MessageEntity("bold", 3, 4)
    sent = await bot.send_message(chat, "😀 bold https://example.org/a.", entities=[bold])
    assert sent.parse_entities() == {bold: "bold", MessageEntity("url", 8, 21): "https://example.org/a"}
    (stored,) = (await doors.get("outbox", chat_id=chat))["messages"]
    assert [e["type"] for e in stored["entities"]] == ["bold", "url"]


async def test_an_entity_past_the_end_is_refused(bot: Bot, chat: int) -> None:
    with pytest.raises(BadRequest, match="ends after the end of the text"):
        await bot.send_message(chat, "short", entities=[MessageEntity("bold", 3, 4)])


async def test_html_is_parsed_and_broken_html_refused(bot: Bot, chat: int) -> None:
    sent = await bot.send_message(chat, "<b>Noted &amp; <i>kept</i></b>", parse_mode="HTML")
    assert sent.text == "Noted & kept"
    assert sent.text_html == "<b>Noted &amp; <i>kept</i></b>"
    for broken in ("<b>open", "shut</b>", "<table>no</table>"):
        with pytest.raises(BadRequest, match="Can't parse entities"):
            await bot.send_message(chat, broken, parse_mode="HTML")


async def test_a_stranger_cannot_be_written_to(bot: Bot) -> None:
    with pytest.raises(BadRequest, match="Chat not found"):
        await bot.send_message(424242, "hello?")


async def test_a_blocked_bot_is_told_so_until_the_person_writes(bot: Bot, doors: Doors, chat: int) -> None:
    await doors.post("block", {"user_id": chat})
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        await bot.send_message(chat, "hello?")
    *_, update = await bot.get_updates()
    assert update.my_chat_member.new_chat_member.status == "kicked"
    await doors.say("I am back")
    assert (await bot.send_message(chat, "welcome")).text == "welcome"


async def test_a_reply_needs_its_message(bot: Bot, chat: int) -> None:
    sent = await bot.send_message(chat, "yes", reply_parameters=ReplyParameters(1))
    assert sent.reply_to_message.text == "/start"
    with pytest.raises(BadRequest, match="Message to be replied not found"):
        await bot.send_message(chat, "no", reply_parameters=ReplyParameters(99))
    await bot.send_message(chat, "all the same", reply_parameters=ReplyParameters(99, allow_sending_without_reply=True))


async def test_a_message_is_edited_and_deleted(bot: Bot, doors: Doors, chat: int) -> None:
    sent = await bot.send_message(chat, "wrong")
    edited = await bot.edit_message_text("right", chat, sent.message_id)
    assert edited.text == "right"
    assert edited.edit_date is not None
    with pytest.raises(BadRequest, match="Message is not modified"):
        await bot.edit_message_text("right", chat, sent.message_id)
    with pytest.raises(BadRequest, match="Message can't be edited"):
        await bot.edit_message_text("hers", chat, 1)
    assert (await doors.get("outbox", chat_id=chat))["messages"][0]["edited"] is True
    assert await bot.delete_message(chat, sent.message_id)
    assert await doors.texts() == []
    with pytest.raises(BadRequest, match="Message to delete not found"):
        await bot.delete_message(chat, sent.message_id)


async def test_a_button_is_pressed_and_answered(bot: Bot, doors: Doors, chat: int) -> None:
    sent = await bot.send_message(chat, "Send it?", reply_markup=KEYS)
    before = (await doors.get("chat", chat_id=chat))["version"]
    press = {"user_id": chat, "message_id": sent.message_id}
    await doors.post("press", {**press, "data": "yes"})
    await doors.post("press", {**press, "data": "no"}, status=400)
    *_, update = await bot.get_updates()
    query = update.callback_query
    assert (query.data, query.message.text, query.from_user.id) == ("yes", "Send it?", chat)
    assert await query.answer("Done")
    with pytest.raises(BadRequest, match="Query is too old"):
        await query.answer("again")
    (answer,) = (await doors.get("chat", chat_id=chat, since=before))["answers"]
    assert answer["text"] == "Done"


async def test_typing_and_draft_show_until_the_message(bot: Bot, doors: Doors, chat: int) -> None:
    await bot.send_chat_action(chat, "typing")
    await bot.send_message_draft(chat, 7, "The fer")
    shown = await doors.get("chat", chat_id=chat)
    assert (shown["action"], shown["draft"]) == ("typing", "The fer")
    await bot.send_message(chat, "The ferry leaves at 07:35.")
    shown = await doors.get("chat", chat_id=chat)
    assert (shown["action"], shown["draft"]) == (None, None)
    assert [m["direction"] for m in shown["messages"]] == ["in", "out"]


async def test_commands_are_kept_for_each_language(bot: Bot) -> None:
    await bot.set_my_commands([BotCommand("help", "what I do")])
    await bot.set_my_commands([BotCommand("ayuda", "lo que hago")], language_code="es")
    assert [c.command for c in await bot.get_my_commands()] == ["help"]
    assert [c.command for c in await bot.get_my_commands(language_code="es")] == ["ayuda"]


async def test_json_query_and_multipart_bodies_work_too(server: LiveServer, chat: int) -> None:
    address = f"{server.base}/bot{TOKEN}/sendMessage"
    values = {"chat_id": "5001", "text": "hello"}
    async with httpx.AsyncClient() as client:
        for answer in (
            await client.get(address, params=values),
            await client.post(address, json={"chat_id": 5001, "text": "hello", "entities": []}),
            await client.post(address, data=values, files={"unused": b"x"}),
        ):
            assert answer.json()["result"]["text"] == "hello"


async def test_what_is_not_known_or_not_readable_is_refused(server: LiveServer, chat: int) -> None:
    async with httpx.AsyncClient(base_url=f"{server.base}/bot{TOKEN}/") as client:
        unknown = await client.post("sendNothing")
        assert unknown.status_code == 404
        assert unknown.json() == {"ok": False, "error_code": 404, "description": "Not Found: method not found"}
        json = {"Content-Type": "application/json"}
        for body in (
            b"{",
            b"[]",
            b'{"chat_id": 5001, "text": "\\ud800"}',
            b'{"chat_id": 5001, "text": "x", "entities": "["}',
        ):
            refused = await client.post("sendMessage", content=body, headers=json)
            assert (refused.status_code, refused.json()["error_code"]) == (400, 400)
