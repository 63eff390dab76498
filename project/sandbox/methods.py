"""The Bot API's methods, apart from getUpdates: https://core.telegram.org/bots/api#available-methods"""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from . import chats, files, shapes, wake, webhooks
from .errors import ApiError, bad_request
from .formatting import Entity, accept
from .markup import checked as checked_markup
from .models import Bot, Chat, ChatMessage, Person, Press, Update
from .params import Params

ACTIONS = frozenset(
    [
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    ]
)
ACTION_SECONDS = 5  # https://core.telegram.org/bots/api#sendchataction
DRAFT_SECONDS = 30  # https://core.telegram.org/bots/api#sendmessagedraft

Method = Callable[[Bot, Params], Any]


def get_me(bot: Bot, params: Params) -> Any:
    Bot.objects.filter(pk=bot.pk, called=False).update(called=True)
    return shapes.me(bot)


def yes(bot: Bot, params: Params) -> Any:
    return True


def send_message(bot: Bot, params: Params) -> Any:
    chat = reachable(bot, params)
    text, entities = wording(params)
    answered = replied_to(chat, params)
    message = chats.add(
        chat,
        ChatMessage.Direction.OUT,
        sender_id=bot.pk,
        text=text,
        entities=entities,
        parse_mode=params.text("parse_mode")[:16],
        reply_markup=checked_markup(params.parsed("reply_markup", dict)),
        reply_to=answered.message_id if answered else None,
        thread_id=params.integer("message_thread_id"),
    )
    return shapes.message(message, shapes.bot_user(bot), answered)


def send_message_draft(bot: Bot, params: Params) -> Any:
    chat = reachable(bot, params)
    if chat.type != "private":
        raise bad_request("drafts can be sent only to private chats")
    if not params.integer("draft_id"):
        raise bad_request("draft_id must be non-zero")
    text = wording(params)[0] if params.text("text").strip() else "…"
    chats.show(chat, draft=text, draft_until=timezone.now() + timedelta(seconds=DRAFT_SECONDS))
    return True


def send_chat_action(bot: Bot, params: Params) -> Any:
    chat = reachable(bot, params)
    action = params.text("action")
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    chats.show(chat, action=action, action_until=timezone.now() + timedelta(seconds=ACTION_SECONDS))
    return True


def edit_message_text(bot: Bot, params: Params) -> Any:
    message = own_message(bot, params, "edit")
    text, entities = wording(params)
    return _edited(bot, message, text, entities, checked_markup(params.parsed("reply_markup", dict)))


def edit_message_reply_markup(bot: Bot, params: Params) -> Any:
    message = own_message(bot, params, "edit")
    markup = checked_markup(params.parsed("reply_markup", dict))
    return _edited(bot, message, message.text, message.entities, markup)


def _edited(bot: Bot, message: ChatMessage, text: str, entities: list[Entity], markup: Any) -> Any:
    if (message.text, message.entities, message.reply_markup) == (text, entities, markup):
        raise bad_request(
            "message is not modified: specified new message content and reply markup are exactly the same "
            "as a current content and reply markup of the message"
        )
    chats.change(message, text=text, entities=entities, reply_markup=markup, edited=int(time.time()))
    return shapes.message(message, shapes.bot_user(bot))


def delete_message(bot: Bot, params: Params) -> Any:
    chat = reachable(bot, params)
    message = find(chat, params.integer("message_id"))
    if message is None:
        raise bad_request("message to delete not found")
    chats.change(message, deleted=True)
    return True


def answer_callback_query(bot: Bot, params: Params) -> Any:
    query = params.integer("callback_query_id")
    press = Press.objects.select_related("chat").filter(pk=query or 0, chat__bot=bot, answered=False).first()
    if press is None:
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    text = params.text("text")
    if len(text) > 200:
        raise bad_request("MESSAGE_TOO_LONG")
    press.answered, press.text, press.show_alert = True, text, params.boolean("show_alert")
    with transaction.atomic():  # a phone that sees the new version sees the answer too
        press.version = chats.touch(press.chat)
        press.save()
    return True


def get_chat(bot: Bot, params: Params) -> Any:
    return shapes.chat(reachable(bot, params)) | {
        "accent_color_id": 0,
        "max_reaction_count": 11,
        "accepted_gift_types": {
            "unlimited_gifts": False,
            "limited_gifts": False,
            "unique_gifts": False,
            "premium_subscription": False,
            "gifts_from_channels": False,
        },
    }


def set_my_commands(bot: Bot, params: Params) -> Any:
    commands = params.parsed("commands", list) or []
    if len(commands) > 100 or not all(isinstance(c, dict) and c.get("command") for c in commands):
        raise bad_request("BOT_COMMAND_INVALID")
    return _keep_commands(bot, params, commands)


def delete_my_commands(bot: Bot, params: Params) -> Any:
    return _keep_commands(bot, params, [])


def get_my_commands(bot: Bot, params: Params) -> Any:
    return bot.commands.get(_commands_key(params), [])


def _keep_commands(bot: Bot, params: Params, commands: list[Any]) -> bool:
    bot.commands = bot.commands | {_commands_key(params): commands}
    bot.save(update_fields=["commands"])
    return True


def _commands_key(params: Params) -> str:
    scope = params.parsed("scope", dict) or {}
    return f"{scope.get('type', 'default')}:{params.text('language_code')}"


def set_webhook(bot: Bot, params: Params) -> Any:
    """What waits and what will come is brought there; getUpdates is refused meanwhile."""
    url = params.text("url")
    if url and (len(url) > 500 or not url.startswith(("https://", "http://"))):
        raise bad_request("bad webhook: invalid webhook URL specified")
    secret = params.text("secret_token")
    if not re.fullmatch(r"[A-Za-z0-9_-]{0,256}", secret):
        raise bad_request("secret token contains unallowed characters")
    _drop_pending(bot, params)
    bot.webhook_url, bot.webhook_secret = url, secret
    bot.webhook_error, bot.webhook_error_at = "", None
    changed = ["webhook_url", "webhook_secret", "webhook_error", "webhook_error_at"]
    if (allowed := params.parsed("allowed_updates", list)) is not None:
        bot.allowed_updates = [str(kind) for kind in allowed]
        changed.append("allowed_updates")
    bot.save(update_fields=changed)
    wake.ring(bot.pk)  # who waits in getUpdates is told
    webhooks.bring(bot.pk)
    return True


def delete_webhook(bot: Bot, params: Params) -> Any:
    _drop_pending(bot, params)
    Bot.objects.filter(pk=bot.pk).update(webhook_url="", webhook_secret="")
    return True


def get_webhook_info(bot: Bot, params: Params) -> Any:
    count = Update.objects.filter(bot=bot, confirmed=False).count()
    info = {"url": bot.webhook_url, "has_custom_certificate": False, "pending_update_count": count}
    if bot.webhook_error_at is not None:
        info["last_error_date"] = int(bot.webhook_error_at.timestamp())
        info["last_error_message"] = bot.webhook_error
    return info


def _drop_pending(bot: Bot, params: Params) -> None:
    if params.boolean("drop_pending_updates"):
        Update.objects.filter(bot=bot, confirmed=False).update(confirmed=True)


def wording(params: Params) -> tuple[str, list[Entity]]:
    return accept(params.text("text"), params.parsed("entities", list), params.text("parse_mode"))


def reachable(bot: Bot, params: Params) -> Chat:
    """The chat of the call. Raises ApiError 400 when there is none, 403 when the bot may not write there."""
    if "chat_id" not in params:
        raise bad_request("chat_id is empty")
    raw = params.text("chat_id").strip()
    if not raw.lstrip("-").isdecimal():
        raise bad_request("chat not found")
    chat_id = params.integer("chat_id") or 0
    chat = Chat.objects.select_related("bot").filter(bot=bot, chat_id=chat_id).first()
    if chat is None:
        if Person.objects.filter(pk=chat_id).exists():
            raise ApiError(403, "Forbidden: bot can't initiate conversation with a user")
        raise bad_request("chat not found")
    if chat.blocked:
        private = chat.type == "private"
        raise ApiError(
            403,
            "Forbidden: bot was blocked by the user"
            if private
            else f"Forbidden: bot was kicked from the {chat.type} chat",
        )
    return chat


def find(chat: Chat, message_id: int | None) -> ChatMessage | None:
    found = ChatMessage.objects.select_related("chat__bot").filter(Q(chat=chat), deleted=False)
    return found.filter(message_id=message_id or 0).first()


def own_message(bot: Bot, params: Params, verb: str) -> ChatMessage:
    message = find(reachable(bot, params), params.integer("message_id"))
    if message is None:
        raise bad_request(f"message to {verb} not found")
    if message.direction != ChatMessage.Direction.OUT:
        raise bad_request(f"message can't be {verb}ed")
    return message


def replied_to(chat: Chat, params: Params) -> ChatMessage | None:
    reply = params.parsed("reply_parameters", dict) or {}
    message_id = reply.get("message_id", params.integer("reply_to_message_id"))
    if not message_id:
        return None
    found = find(chat, message_id) if isinstance(message_id, int) and abs(message_id) < 2**62 else None
    optional = reply.get("allow_sending_without_reply") or params.boolean("allow_sending_without_reply")
    if found is None and not optional:
        raise bad_request("message to be replied not found")
    return found


# By name in lower case: the Bot API does not care about case.
METHODS: dict[str, Method] = {
    "getme": get_me,
    "getfile": files.get_file,
    "logout": yes,
    "close": yes,
    "sendmessage": send_message,
    "sendmessagedraft": send_message_draft,
    "sendchataction": send_chat_action,
    "editmessagetext": edit_message_text,
    "editmessagereplymarkup": edit_message_reply_markup,
    "deletemessage": delete_message,
    "answercallbackquery": answer_callback_query,
    "getchat": get_chat,
    "setmycommands": set_my_commands,
    "deletemycommands": delete_my_commands,
    "getmycommands": get_my_commands,
    "setwebhook": set_webhook,
    "deletewebhook": delete_webhook,
    "getwebhookinfo": get_webhook_info,
}
