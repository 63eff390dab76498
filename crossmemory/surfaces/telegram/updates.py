"""Every kind of update in one table: https://core.telegram.org/bots/api#update

Nothing here raises, whatever comes: a person's words in a private chat are understood, and everything else is a
`skip` with its reason. Ids are 64-bit and become strings.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from crossmemory.inbox import Incoming
from crossmemory.surfaces.base import Inbound
from crossmemory.surfaces.telegram import groups
from crossmemory.surfaces.telegram.content import Fields, fields, happened, name, number, said, text
from crossmemory.surfaces.telegram.groups import Bot

#: anonymous admins, channels and forwards from a linked channel: shared by everybody, nobody's identity
SHARED_IDS = frozenset({1087968824, 136817688, 777000})

CUT_AT = 4000  # UTF-16 units; clients cut what is longer than 4,096 into several messages
_COMMAND = re.compile(r"/([A-Za-z0-9_]{1,32})(?:@([A-Za-z0-9_]{1,64}))?(?:\s+(.*))?\s*", re.DOTALL)


def parse(raw: bytes, bot: Bot) -> Inbound:
    """One update as it was stored."""
    try:
        update = json.loads(raw)
    except (ValueError, RecursionError):
        return Inbound("skip", reason="unreadable")
    if not isinstance(update, dict):
        return Inbound("skip", reason="unreadable")
    kind = kind_of(update)
    handler = KINDS.get(kind)
    if handler is None:
        return Inbound("skip", reason=f"unknown {kind}"[:60])
    if isinstance(handler, str):
        return Inbound("skip", reason=handler)
    return handler(fields(update.get(kind)), bot)


def kind_of(update: Fields) -> str:
    """The one key of an update beside its id."""
    return next((str(key) for key in update if key != "update_id"), "")


def sender_of(update: Fields) -> str:
    """Whose turn an update is in: only for order and caps; empty when nobody's."""
    body = fields(update.get(kind_of(update)))
    who = fields(body.get("from")) or fields(body.get("user"))
    return "" if "sender_chat" in body else _person(who)


def incoming(update: Fields, raw: bytes) -> Incoming | None:
    """An update as the inbox takes it; None for what has no number, and so is none."""
    number = update.get("update_id")
    return Incoming(str(number), kind_of(update), raw, sender_of(update)) if isinstance(number, int) else None


def _message(message: Fields, bot: Bot) -> Inbound:
    sender, chat = fields(message.get("from")), fields(message.get("chat"))
    if moved := number(message.get("migrate_to_chat_id")):
        return Inbound("moved", chat=_id(chat.get("id")), text=str(moved))
    if moved := number(message.get("migrate_from_chat_id")):
        return Inbound("moved", chat=str(moved), text=_id(chat.get("id")))
    if reason := _nobody(message, sender):
        return Inbound("skip", reason=reason)
    words, parts, files = said(message)
    command = _COMMAND.fullmatch(words) if "text" in message else None
    private = chat.get("type") == "private"
    common = {**_who(sender, chat), **_place(message), "private": private, "sent_at": _time(message)}
    if not private:
        refused = groups.unheard(message, chat, command, bot)
        if command is not None and groups.to_us(command, bot) and command[1].lower() in ("start", "link"):
            return Inbound("command", **common, command=command[1].lower())  # told where that is done
        if refused:
            return Inbound("skip", reason=refused)
        words = groups.without_mention(words, bot)
        common["title"] = text(chat.get("title"))[:100]
    elif command is not None:
        if not groups.to_us(command, bot, also_nobody=True):
            return Inbound("skip", **common, reason="for another bot")
        argument = (command[3] or "").strip()
        return Inbound("command", **common, command=command[1].lower(), text=argument, **_quoting(message))
    if not words.strip() and not parts:
        return Inbound("skip", **common, reason=f"service {happened(message)}"[:60])
    return Inbound(
        "text",
        **common,
        **_quoting(message),
        text=words,
        parts=parts or None,
        files=files,
        album=text(message.get("media_group_id"))[:64] if parts else "",
        unfinished=len(words.encode("utf-16-le", "surrogatepass")) // 2 >= CUT_AT,
    )


def _nobody(message: Fields, sender: Fields) -> str:
    """Why a message is no person's word to this bot, if it is not."""
    if "business_connection_id" in message:
        return "business"
    if "guest_query_id" in message:
        return "guest"
    if "sender_chat" in message:
        return "anonymous sender"
    if not _person(sender):
        return "no sender"
    if sender.get("is_bot") is True:
        return "bot"
    return ""


def _edit(message: Fields, bot: Bot) -> Inbound:
    """Other words for what was said. Commands stay what they were; a location that moves says nothing new."""
    if "location" in message:
        return Inbound("skip", reason="live location")
    found = _message(message, bot)
    if found.kind == "text":
        return Inbound(**{**_values(found), "kind": "edit"})
    return found if found.kind == "skip" else Inbound("skip", reason="edited command", sender=found.sender)


def _values(inbound: Inbound) -> dict[str, Any]:
    return {field: getattr(inbound, field) for field in Inbound.__dataclass_fields__}


def _reaction(change: Fields, bot: Bot) -> Inbound:
    """Kept, and no more: an empty list says that it was taken back."""
    sender, chat = fields(change.get("user")), fields(change.get("chat"))
    if chat.get("type") != "private" or not _person(sender):
        return Inbound("skip", reason="reaction")
    now = change.get("new_reaction")
    shown = [text(fields(each).get("emoji")) or "other" for each in now] if isinstance(now, list) else []
    message_id = _id(change.get("message_id"))
    return Inbound("reaction", **_who(sender, chat), private=True, message_id=message_id, text=" ".join(shown)[:40])


def _membership(change: Fields, bot: Bot) -> Inbound:
    sender, chat = fields(change.get("from")), fields(change.get("chat"))
    status = text(fields(change.get("new_chat_member")).get("status"))
    if chat.get("type") != "private" or not _person(sender):
        return Inbound("skip", reason=f"membership {status}"[:60])
    common = {**_who(sender, chat), "private": True, "sent_at": _time(change)}
    if status in ("kicked", "left"):
        return Inbound("unreachable", **common, reason="The person blocked the bot.")
    return Inbound("reachable", **common)


def _button(query: Fields, bot: Bot) -> Inbound:
    """A press of a button below a message of ours in a private chat; below an inline message there is no chat. Any
    other press only ends on the phone, which waits to hear of it."""
    sender, message = fields(query.get("from")), fields(query.get("message"))
    chat, data, press = fields(message.get("chat")), text(query.get("data")), text(query.get("id"))[:64]
    if chat.get("type") != "private" or not data or not _person(sender):
        return Inbound("skip", sender=_person(sender), reason="callback_query", press=press)
    place = {"topic": _place(message)["topic"], "message_id": _id(message.get("message_id"))}
    return Inbound("button", **_who(sender, chat), **place, private=True, text=data[:64], press=press)


def _who(sender: Fields, chat: Fields) -> dict[str, Any]:
    return {
        "sender": _person(sender),
        "chat": _id(chat.get("id")),
        "name": name(sender)[:200],
        "language": text(sender.get("language_code"))[:20],
    }


def _person(sender: Fields) -> str:
    """The id of one person; empty for nobody, and for those that everybody shares."""
    found = number(sender.get("id"))
    return "" if found is None or found in SHARED_IDS else str(found)


def _place(message: Fields) -> dict[str, Any]:
    """Where in the chat. A thread is a topic only where the message says so, and the General topic has no id that
    could be sent to."""
    thread = number(message.get("message_thread_id"))
    topic = str(thread) if thread and thread != 1 and message.get("is_topic_message") is True else ""
    replied = fields(message.get("reply_to_message")).get("message_id")
    return {"topic": topic, "message_id": _id(message.get("message_id")), "reply_to": _id(replied)}


def _quoting(message: Fields) -> dict[str, Any]:
    """Whose words they are, if they are passed on; and what they are about."""
    if "forward_origin" in message or "forward_date" in message:
        return {"forwarded_from": _origin(fields(message.get("forward_origin")))}
    quoted = text(fields(message.get("quote")).get("text"))
    if "external_reply" in message:
        origin = fields(fields(message.get("external_reply")).get("origin"))
        return {"quote": quoted, "quote_by": _origin(origin)} if quoted else {}
    replied = fields(message.get("reply_to_message"))
    words, parts, _ = said(replied)
    quoted = quoted or Inbound("text", text=words, parts=list(parts)).whole
    by = fields(replied.get("from"))
    if not quoted:
        return {}
    if by.get("is_bot") is True:
        return {"quote": quoted, "quote_by": "you"}
    mine = by.get("id") == fields(message.get("from")).get("id")
    return {"quote": quoted, "quote_by": "I" if mine else name(by)}


def _origin(origin: Fields) -> str:
    chat = fields(origin.get("sender_chat")) or fields(origin.get("chat"))
    user = fields(origin.get("sender_user"))
    return name(user) or text(origin.get("sender_user_name")) or text(chat.get("title"))


def _id(value: Any) -> str:
    found = number(value)
    return "" if found is None else str(found)


def _time(message: Fields) -> datetime | None:
    """The platform's clock; 0 stands for a message that cannot be seen."""
    seconds = number(message.get("date")) or 0
    try:
        return datetime.fromtimestamp(seconds, UTC) if seconds > 0 else None
    except (ValueError, OverflowError, OSError):
        return None


Handler = Callable[[Fields, Bot], Inbound]

#: what becomes of each kind: a function that understands it, or the reason why it is kept raw and skipped
KINDS: dict[str, Handler | str] = {
    "message": _message,
    "edited_message": _edit,
    "my_chat_member": _membership,
    "callback_query": _button,
    "message_reaction": _reaction,
    "message_reaction_count": "reaction",
    "channel_post": "channel",
    "edited_channel_post": "channel",
    "business_connection": "business",
    "business_message": "business",
    "edited_business_message": "business",
    "deleted_business_messages": "business",
    "guest_message": "guest",
    "inline_query": "inline",
    "chosen_inline_result": "inline",
    "shipping_query": "payment",
    "pre_checkout_query": "payment",
    "purchased_paid_media": "payment",
    "poll": "poll",
    "poll_answer": "poll",
    "chat_member": "membership",
    "chat_join_request": "membership",
    "chat_boost": "boost",
    "removed_chat_boost": "boost",
    "managed_bot": "managed bot",
}

#: what the Bot API is asked for: without a list it leaves out reactions
ASKED_FOR = [kind for kind in KINDS if kind not in ("chat_member", "message_reaction_count")]
