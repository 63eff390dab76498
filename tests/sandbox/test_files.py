"""Files that a phone sends, as python-telegram-bot gets them."""

from typing import Any

import httpx
import pytest
from telegram import Bot
from telegram.error import BadRequest, InvalidToken

from project.sandbox import files
from tests.sandbox.conftest import TOKEN, Doors, bot_for
from tests.sandbox.live import LiveServer

PICTURE = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100
ANA = 5001


async def send(server: LiveServer, *sent: tuple[str, bytes, str], status: int = 200, **fields: Any) -> Any:
    async with httpx.AsyncClient() as client:
        answer = await client.post(
            f"{server.base}/send",
            data={"user_id": str(ANA), **fields},
            files=[("file", each) for each in sent],
        )
    assert answer.status_code == status, answer.text
    return answer.json()


async def got(address: str) -> httpx.Response:
    async with httpx.AsyncClient() as client:
        return await client.get(address)


async def test_a_picture_with_its_caption_is_fetched_whole(bot: Bot, server: LiveServer, doors: Doors) -> None:
    await send(server, ("cat.png", PICTURE, "image/png"), caption="My cat /now 🎩")
    (update,) = await bot.get_updates()
    message = update.message
    assert message is not None
    assert (message.text, message.caption) == (None, "My cat /now 🎩")
    assert [entity.type for entity in message.caption_entities] == ["bot_command"]
    (size,) = message.photo
    found = await bot.get_file(size.file_id)
    assert found.file_size == len(PICTURE)
    assert bytes(await found.download_as_bytearray()) == PICTURE
    (shown,) = (await doors.get("chat", chat_id=ANA))["messages"]
    assert shown["file"]["name"] == "cat.png"
    picture = await got(f"{server.base}/sent/{shown['file']['id']}")
    assert (picture.content, picture.headers["content-type"]) == (PICTURE, "image/png")


async def test_several_are_an_album(bot: Bot, server: LiveServer) -> None:
    await send(server, *[(f"{n}.png", PICTURE, "image/png") for n in range(3)], caption="Three of them")
    updates = await bot.get_updates()
    messages = [update.message for update in updates if update.message]
    assert len({message.media_group_id for message in messages}) == 1
    assert [message.caption for message in messages] == ["Three of them", None, None]
    assert [message.message_id for message in messages] == sorted(message.message_id for message in messages)


@pytest.mark.parametrize(
    ("name", "mime", "field"),
    [
        ("a.ogg", "audio/ogg", "voice"),
        ("a.mp3", "audio/mpeg", "audio"),
        ("a.mp4", "video/mp4", "video"),
        ("a.pdf", "application/pdf", "document"),
        ("a.svg", "image/svg+xml", "document"),
        ("a", "", "document"),
    ],
)
async def test_each_kind_stands_in_its_field(bot: Bot, server: LiveServer, name: str, mime: str, field: str) -> None:
    await send(server, (name, b"content", mime or "application/octet-stream"))
    (update,) = await bot.get_updates()
    assert getattr(update.message, field)


async def test_a_caption_is_edited(bot: Bot, server: LiveServer, doors: Doors) -> None:
    (sent,) = (await send(server, ("a.pdf", b"x", "application/pdf"), caption="before"))["messages"]
    await doors.post("edit", {"user_id": ANA, "message_id": sent["message_id"], "text": "after"})
    edited = (await bot.get_updates())[1].edited_message
    assert edited is not None
    assert (edited.text, edited.caption, edited.document is not None) == (None, "after", True)


async def test_what_is_too_big_arrives_and_is_not_given_out(
    bot: Bot, server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LARGEST", 5)
    await send(server, ("big.bin", b"x" * 6, "application/x-thing"))
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    with pytest.raises(BadRequest, match="too big"):
        await bot.get_file(update.message.document.file_id)


async def test_another_bot_gets_nothing(bot: Bot, server: LiveServer) -> None:
    await send(server, ("a.pdf", b"x", "application/pdf"))
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    file_id = update.message.document.file_id
    path = (await bot.get_file(file_id)).file_path
    assert path is not None
    async with bot_for(server, "7000000009:another") as other:
        with pytest.raises(BadRequest):
            await other.get_file(file_id)
    assert (await got(path.replace(TOKEN, "7000000009:another"))).status_code == 404
    assert (await got(path.replace(TOKEN, f"{TOKEN}x"))).status_code == 401
    with pytest.raises(InvalidToken):
        async with bot_for(server, f"{TOKEN}x"):
            pass


async def test_a_download_may_fail_as_planned(bot: Bot, server: LiveServer, doors: Doors) -> None:
    await send(server, ("a.pdf", b"x", "application/pdf"))
    (update,) = await bot.get_updates()
    assert update.message is not None
    assert update.message.document is not None
    found = await bot.get_file(update.message.document.file_id)
    assert found.file_path is not None
    await doors.post("fault", {"method": "file", "status": 502})
    assert (await got(found.file_path)).status_code == 502
    assert (await got(found.file_path)).content == b"x"


@pytest.mark.parametrize(
    ("sent", "fields", "status", "word"),
    [
        ([], {}, 400, "one to 10"),
        ([("a", b"x", "text/plain")] * 11, {}, 400, "one to 10"),
        ([("a", b"", "text/plain")], {}, 400, "empty"),
        ([("a", b"x", "text/plain")], {"caption": "x" * 1025}, 400, "caption"),
        ([("a", b"x", "text/plain")], {"user_id": "nobody"}, 400, "user_id"),
    ],
)
async def test_what_cannot_be_sent_is_refused_and_leaves_nothing(
    bot: Bot, server: LiveServer, sent: Any, fields: Any, status: int, word: str
) -> None:
    assert word in (await send(server, *sent, status=status, **fields))["error"]
    assert await bot.get_updates() == ()
