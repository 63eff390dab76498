"""What is heard in a group: nothing, unless the surface's option `groups` is on, and then only what is said to us."""

import re
from dataclasses import dataclass

from crossmemory.surfaces.telegram.content import Fields, fields, text


@dataclass(frozen=True, slots=True)
class Bot:
    """Whose updates these are."""

    username: str = ""
    id: str = ""
    groups: bool = False  # whether it listens in groups


def to_us(command: re.Match[str], bot: Bot, *, also_nobody: bool = False) -> bool:
    """Whether a command (name, bot, argument) names this bot, or with `also_nobody` no bot at all."""
    to = (command[2] or "").lower()
    if not to or not bot.username:
        return also_nobody
    return to == bot.username.lower()


def unheard(message: Fields, chat: Fields, command: re.Match[str] | None, bot: Bot) -> str:
    """Why a message in a group or channel is not for us; empty when it is."""
    kind = text(chat.get("type")) or "no chat"
    if not bot.groups or kind not in ("group", "supergroup") or "direct_messages_topic" in message:
        return kind
    if command is not None:
        return "command in a group"
    replied = fields(fields(message.get("reply_to_message")).get("from"))
    to_the_bot = bool(bot.id) and str(replied.get("id")) == bot.id
    return "" if to_the_bot or _mentions(message, bot) else "not addressed"


def without_mention(words: str, bot: Bot) -> str:
    """The words without the name they begin with."""
    return (
        re.sub(rf"^\s*@{re.escape(bot.username)}\b[\s,:]*", "", words, flags=re.IGNORECASE) if bot.username else words
    )


def _mentions(message: Fields, bot: Bot) -> bool:
    """By the platform's own marks, not by looking for a name in the words."""
    for said, marks in (("text", "entities"), ("caption", "caption_entities")):
        units = text(message.get(said)).encode("utf-16-le", "surrogatepass")
        found = message.get(marks)
        for mark in map(fields, found if isinstance(found, list) else []):
            if mark.get("type") == "text_mention" and str(fields(mark.get("user")).get("id")) == bot.id != "":
                return True
            offset, length = mark.get("offset"), mark.get("length")
            if mark.get("type") != "mention" or not isinstance(offset, int) or not isinstance(length, int):
                continue
            name = units[2 * max(offset, 0) : 2 * (max(offset, 0) + max(length, 0))].decode("utf-16-le", "replace")
            if bot.username and name.lower() == f"@{bot.username}".lower():
                return True
    return False
