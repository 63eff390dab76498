"""What a person does with their phone, turned into the updates that Telegram would make of it."""

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from . import chats, files, shapes, updates
from .errors import DoorError
from .formatting import MAX_TEXT, detect, storable, units
from .markup import callback_data
from .models import Bot, Chat, ChatMessage, Person, Press

MAX_CAPTION = 1024
MEDIA = [
    "voice",
    "video_note",
    "photo",
    "video",
    "audio",
    "animation",
    "sticker",
    "document",
    "location",
    "venue",
    "contact",
    "poll",
    "dice",
    "game",
    "story",
    "invoice",
    "paid_media",
]


@dataclass(frozen=True, slots=True)
class Said:
    update_id: int
    message_id: int


def say(
    bot: Bot,
    user_id: int,
    text: str,
    *,
    first_name: str = "",
    language_code: str = "",
    date: int | None = None,
    times: int = 1,
) -> Said:
    """Send ``text`` to the bot from the private chat of ``user_id``; ``times`` delivers the same update repeatedly."""
    checked(text)
    person, chat = chats.open_private(bot, user_id, first_name, language_code)
    if chat.blocked:
        block(bot, user_id, False)  # who writes to a bot has unblocked it
    kept = storable(text)
    message = chats.add(
        chat,
        ChatMessage.Direction.IN,
        sender_id=user_id,
        text=kept,
        entities=detect(kept),
        date=int(time.time()) if date is None else date,
    )
    body = shapes.message(message, shapes.user(person)) | {"text": text}
    return Said(updates.put(bot, {"message": body}, times=times), message.message_id)


def send(bot: Bot, user_id: int, uploaded: Sequence["UploadedFile[bytes]"], caption: str) -> list[Said]:
    """Send files, several as one album with the caption at the first."""
    if not 0 < len(uploaded) <= files.MOST:
        raise DoorError(f"an album has one to {files.MOST} files, not {len(uploaded)}")
    if (size := units(caption)) > MAX_CAPTION:
        raise DoorError(f"caption has {size} UTF-16 units; Telegram allows {MAX_CAPTION}")
    person, chat = chats.open_private(bot, user_id)
    if chat.blocked:
        block(bot, user_id, False)
    kept = [files.keep(bot, each) for each in uploaded]
    album = uuid.uuid4().hex[:16] if len(kept) > 1 else ""
    said = []
    for number, row in enumerate(kept):
        words = storable(caption) if number == 0 else ""
        message = chats.add(
            chat,
            ChatMessage.Direction.IN,
            sender_id=user_id,
            text=words,
            media=row.kind,
            file=row,
            album=album,
            entities=detect(words),
        )
        body = shapes.message(message, shapes.user(person))
        said.append(Said(updates.put(bot, {"message": body}), message.message_id))
    return said


def edit(bot: Bot, user_id: int, message_id: int, text: str) -> Said:
    """Change what the person said earlier."""
    checked(text)
    message = find(bot, user_id, message_id)
    if message.direction != ChatMessage.Direction.IN:
        raise DoorError("a person can edit only what they said themselves")
    kept = storable(text)
    chats.change(message, text=kept, entities=detect(kept), edited=int(time.time()))
    words = "text" if message.file is None else "caption"
    body = shapes.message(message, shapes.user(Person.objects.get(pk=user_id))) | {words: text}
    return Said(updates.put(bot, {"edited_message": body}), message_id)


def press(bot: Bot, user_id: int, message_id: int, data: str) -> tuple[Said, int]:
    """Tap the inline button that carries ``data``; also returns the callback query's id."""
    message = find(bot, user_id, message_id)
    if data not in callback_data(message.reply_markup):
        raise DoorError(f"message {message_id} has no button with the data {data!r}")
    version = chats.touch(message.chat)
    tap = Press.objects.create(chat=message.chat, message_id=message_id, data=data, version=version)
    body = {
        "id": str(tap.pk),
        "from": shapes.user(Person.objects.get(pk=user_id)),
        "message": shapes.message(message, shapes.bot_user(bot)),
        "chat_instance": str(message.chat.pk),
        "data": data,
    }
    return Said(updates.put(bot, {"callback_query": body}), message_id), tap.pk


def block(bot: Bot, user_id: int, blocked: bool) -> int:
    """Block the bot or let it write again; returns the id of the update that tells it."""
    person, chat = chats.open_private(bot, user_id)
    chats.show(chat, blocked=blocked)
    old, new = ("member", "kicked") if blocked else ("kicked", "member")

    def status(word: str) -> dict[str, Any]:
        extra = {"until_date": 0} if word == "kicked" else {}
        return {"user": shapes.bot_user(bot), "status": word, **extra}

    body = {
        "chat": shapes.chat(chat),
        "from": shapes.user(person),
        "date": int(time.time()),
        "old_chat_member": status(old),
        "new_chat_member": status(new),
    }
    return updates.put(bot, {"my_chat_member": body})


def note(bot: Bot, body: dict[str, Any]) -> None:
    """Let the phone show what a raw update says, as far as it is a message in a chat that can be read."""
    message = body.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("chat"), dict):
        return
    chat_id, message_id = message["chat"].get("id"), message.get("message_id")
    if not _is_id(chat_id) or not _is_id(message_id):
        return
    sender = message.get("from")
    sender = sender if isinstance(sender, dict) and _is_id(sender.get("id")) else {}
    kind = str(message["chat"].get("type") or "private")[:16]
    title = storable(str(message["chat"].get("title") or message["chat"].get("first_name") or ""))[:255]
    if kind == "private":
        name, language = sender.get("first_name"), sender.get("language_code")
        chats.ensure_person(chat_id, storable(str(name or ""))[:64], storable(str(language or ""))[:16])
    text, entities, date = message.get("text"), message.get("entities"), message.get("date")
    chats.add(
        chats.ensure(bot, chat_id, kind, title),
        ChatMessage.Direction.IN,
        message_id=message_id,
        sender_id=sender.get("id"),
        text=storable(text if isinstance(text, str) else str(message.get("caption") or "")),
        media=next((kind for kind in MEDIA if kind in message), ""),
        entities=storable([e for e in entities if isinstance(e, dict)]) if isinstance(entities, list) else [],
        date=date if _is_id(date) else int(time.time()),
    )


def find(bot: Bot, user_id: int, message_id: int) -> ChatMessage:
    rows = (
        ChatMessage.objects.select_related("chat__bot", "file")
        .defer("file__content")
        .filter(chat__bot=bot, chat__chat_id=user_id, message_id=message_id, deleted=False)
    )
    message = rows.first()
    if message is None:
        raise DoorError(f"chat {user_id} has no message {message_id}", 404)
    return message


def checked(text: str) -> None:
    if not text.strip():
        raise DoorError("text is empty")
    if (size := units(text)) > MAX_TEXT:
        raise DoorError(f"text has {size} UTF-16 units; Telegram allows {MAX_TEXT}")


def private_chat(bot: Bot, user_id: int) -> Chat:
    return chats.open_private(bot, user_id)[1]


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**62
