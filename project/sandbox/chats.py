"""Chats and what stands in them. The first statement of every transaction here is a write, as SQLite wants it."""

import time
from typing import Any

from django.db import transaction
from django.db.models import F

from .models import Bot, Chat, ChatMessage, Person


def ensure_person(user_id: int, first_name: str = "", language_code: str = "") -> Person:
    """The person with this id, made when new; a name or language that is given replaces the old one."""
    name = first_name or ("Ana" if user_id == 5001 else f"Person {user_id}")
    Person.objects.bulk_create(
        [Person(user_id=user_id, first_name=name, language_code=language_code or "en")], ignore_conflicts=True
    )
    changes = {k: v for k, v in (("first_name", first_name), ("language_code", language_code)) if v}
    if changes:
        Person.objects.filter(pk=user_id).update(**changes)
    return Person.objects.get(pk=user_id)


def ensure(bot: Bot, chat_id: int, type: str = "private", title: str = "") -> Chat:
    """The bot's chat with this id, made when new."""
    Chat.objects.bulk_create([Chat(bot=bot, chat_id=chat_id, type=type, title=title)], ignore_conflicts=True)
    if title:
        Chat.objects.filter(bot=bot, chat_id=chat_id).exclude(title=title).update(title=title)
    return Chat.objects.select_related("bot").get(bot=bot, chat_id=chat_id)


def open_private(bot: Bot, user_id: int, first_name: str = "", language_code: str = "") -> tuple[Person, Chat]:
    """The person and their chat with the bot: from now on the bot may write to them."""
    person = ensure_person(user_id, first_name, language_code)
    return person, ensure(bot, user_id, "private", person.first_name)


def add(chat: Chat, direction: ChatMessage.Direction, *, message_id: int | None = None, **fields: Any) -> ChatMessage:
    """Store one message at the end of ``chat``, or under a given ``message_id`` (then once only)."""
    with transaction.atomic():
        if message_id is None:
            _touch(chat, next_message_id=F("next_message_id") + 1)
            message_id = chat.next_message_id - 1
        else:
            _touch(chat)
            if chat.next_message_id <= message_id:
                Chat.objects.filter(pk=chat.pk).update(next_message_id=message_id + 1)
        if direction == ChatMessage.Direction.OUT:
            # A message from the bot ends its typing and its draft, as on a real phone.
            Chat.objects.filter(pk=chat.pk).update(action="", action_until=None, draft="", draft_until=None)
        fields.setdefault("date", int(time.time()))
        message = ChatMessage(chat=chat, message_id=message_id, direction=direction, version=chat.version, **fields)
        ChatMessage.objects.bulk_create([message], ignore_conflicts=True)
        return (
            ChatMessage.objects.select_related("chat__bot", "file")
            .defer("file__content")
            .get(chat=chat, message_id=message_id)
        )


def change(message: ChatMessage, **fields: Any) -> ChatMessage:
    """Edit or delete a message so that phones notice."""
    with transaction.atomic():
        _touch(message.chat)
        for name, value in fields.items():
            setattr(message, name, value)
        message.version = message.chat.version
        message.save(update_fields=[*fields, "version"])
    return message


def show(chat: Chat, **fields: Any) -> None:
    """Change what the chat itself shows: typing, a draft, blocked."""
    _touch(chat, **fields)


def touch(chat: Chat) -> int:
    """Raise the version of ``chat`` and return it; the first statement of the caller's transaction."""
    _touch(chat)
    return chat.version


def _touch(chat: Chat, **fields: Any) -> None:
    Chat.objects.filter(pk=chat.pk).update(version=F("version") + 1, **fields)
    chat.refresh_from_db(fields=["version", "next_message_id"])
