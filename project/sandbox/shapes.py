"""Rows as the Bot API's JSON objects: https://core.telegram.org/bots/api#available-types"""

from typing import Any

from . import files
from .models import Bot, Chat, ChatMessage, Person

Json = dict[str, Any]


def bot_user(bot: Bot) -> Json:
    return {"id": bot.pk, "is_bot": True, "first_name": bot.first_name, "username": bot.username}


def me(bot: Bot) -> Json:
    return bot_user(bot) | {
        "can_join_groups": True,
        "can_read_all_group_messages": False,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }


def user(person: Person) -> Json:
    shape: Json = {"id": person.user_id, "is_bot": False, "first_name": person.first_name}
    if person.language_code:
        shape["language_code"] = person.language_code
    return shape


def chat(row: Chat) -> Json:
    name = "first_name" if row.type == "private" else "title"
    return {"id": row.chat_id, "type": row.type, name: row.title}


def message(row: ChatMessage, sender: Json, answered: ChatMessage | None = None) -> Json:
    """A Message object; ``answered`` is the message that this one replies to."""
    shape: Json = {"message_id": row.message_id, "from": sender, "chat": chat(row.chat), "date": row.date}
    if row.edited:
        shape["edit_date"] = row.edited
    if row.thread_id:
        shape["message_thread_id"] = row.thread_id
    if row.file is not None:
        shape |= files.shape(row.file)
    if row.album:
        shape["media_group_id"] = row.album
    words, marks = ("text", "entities") if row.file is None else ("caption", "caption_entities")
    if row.text or row.file is None:
        shape[words] = row.text
    if row.entities:
        shape[marks] = row.entities
    if row.reply_markup and "inline_keyboard" in row.reply_markup:
        shape["reply_markup"] = row.reply_markup
    if answered is not None:
        shape["reply_to_message"] = {
            "message_id": answered.message_id,
            "chat": chat(row.chat),
            "date": answered.date,
            "text": answered.text,
        }
    return shape


def seen(row: ChatMessage) -> Json:
    """A message as the doors and the phone show it."""
    return {
        "message_id": row.message_id,
        "chat_id": row.chat.chat_id,
        "direction": row.direction,
        "text": row.text,
        "media": row.media,
        "file": row.file and {"id": row.file.file_id, "name": row.file.name, "mime": row.file.mime},
        "album": row.album,
        "entities": row.entities,
        "parse_mode": row.parse_mode or None,
        "reply_markup": row.reply_markup,
        "reply_to_message_id": row.reply_to,
        "message_thread_id": row.thread_id,
        "date": row.date,
        "edited": row.edited is not None,
        "edit_date": row.edited,
        "deleted": row.deleted,
    }
