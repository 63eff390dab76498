"""Every kind of message content in one table: https://core.telegram.org/bots/api#message

What carries no text becomes a typed part, with the words that stand for it in brackets, and perhaps a file.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from crossmemory.surfaces.base import RemoteFile

Fields = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Content:
    """What one kind of content says."""

    words: str  # what stands for it, without brackets
    details: dict[str, Any]
    file: RemoteFile | None = None


Describe = Callable[[Any], Content]


def fields(value: Any) -> Fields:
    """`value` if it is an object, else an empty one: payloads are never trusted to have a shape."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def name(user: Fields) -> str:
    """How a person calls themselves."""
    return " ".join(part for part in (text(user.get("first_name")), text(user.get("last_name"))) if part)


def said(message: Fields) -> tuple[str, list[dict[str, Any]], tuple[RemoteFile, ...]]:
    """The text of a message, its typed parts and their files; all empty when it says nothing that is known."""
    if "text" in message:
        return text(message["text"]), [], ()
    for kind, describe in CONTENT.items():
        if kind in message and callable(describe):
            found = describe(message[kind])
            part = {"type": _TYPES.get(kind, kind), **found.details, "words": " ".join(found.words.split())}
            files = (found.file,) if found.file is not None else ()
            return text(message.get("caption")), [part], files
    return "", [], ()


def happened(message: Fields) -> str:
    """What a message without content reports: the name of its field, known or not."""
    return next((str(key) for key in message if CONTENT.get(str(key), SERVICE) == SERVICE), "empty")


def _file(value: Any, *names: str) -> dict[str, Any]:
    known = {"duration": "seconds", "file_name": "name", "mime_type": "mime", "file_size": "bytes"}
    found = fields(value)
    return {known.get(key, key): found[key] for key in names if isinstance(found.get(key), (str, int))}


def _remote(value: Any) -> RemoteFile | None:
    found = fields(value)
    reference = text(found.get("file_id"))
    size = number(found.get("file_size"))
    return RemoteFile(0, reference, text(found.get("file_unique_id")), size) if reference else None


def _photo(value: Any) -> Content:
    sizes = [fields(size) for size in value] if isinstance(value, list) else []
    if not sizes:
        return Content("photo", {})
    return Content("photo", _file(sizes[-1], "width", "height", "file_size"), _remote(sizes[-1]))


def _live_photo(value: Any) -> Content:
    """A photo that moves: kept as the still picture, where there is one."""
    found = fields(value)
    return replace(_photo(found.get("photo")), words="photo")


def _medium(word: str) -> Describe:
    """A file that is called by its name or, without one, by how long it takes: as `Attachment.words` has it."""

    def describe(value: Any) -> Content:
        part = _file(value, "file_name", "mime_type", "file_size", "duration", "width", "height")
        seconds = number(part.get("seconds"))
        clock = "" if seconds is None else f"{seconds // 60}:{seconds % 60:02}"
        return Content(f"{word} {text(part.get('name')) or clock}", part, _remote(value))

    return describe


def _sticker(value: Any) -> Content:
    found = fields(value)
    emoji = text(found.get("emoji"))
    return Content(f"sticker {emoji}", {"emoji": emoji, **_file(value, "width", "height", "file_size")}, _remote(value))


def _location(value: Any) -> Content:
    found = fields(value)
    place = {key: found[key] for key in ("latitude", "longitude") if isinstance(found.get(key), (int, float))}
    return Content("live location" if "live_period" in found else "location", place)


def _venue(value: Any) -> Content:
    found = fields(value)
    title, address = text(found.get("title")), text(found.get("address"))
    details = {"title": title, "address": address, **_location(found.get("location")).details}
    return Content(f"place {', '.join(filter(None, [title, address]))}", details)


def _contact(value: Any) -> Content:
    """Somebody's phone number, as it was shared: it proves nothing about who shared it."""
    who, phone = name(fields(value)), text(fields(value).get("phone_number"))
    return Content(f"contact {', '.join(filter(None, [who, phone]))}", {"name": who, "phone": phone})


def _poll(value: Any) -> Content:
    found = fields(value)
    question, options = text(found.get("question")), found.get("options")
    choices = [text(fields(option).get("text")) for option in options] if isinstance(options, list) else []
    words = f"poll “{question}”"
    return Content(f"{words}: {' / '.join(choices)}" if choices else words, {"question": question, "options": choices})


def _checklist(value: Any) -> Content:
    found = fields(value)
    title, tasks = text(found.get("title")), found.get("tasks")
    names = [text(fields(task).get("text")) for task in tasks] if isinstance(tasks, list) else []
    words = f"checklist {title}"
    return Content(f"{words}: {' / '.join(names)}" if names else words, {"title": title, "tasks": names})


def _dice(value: Any) -> Content:
    found = fields(value)
    emoji, thrown = text(found.get("emoji")) or "dice", number(found.get("value"))
    return Content(f"{emoji} {thrown or ''}", {"emoji": emoji, "value": thrown})


def _bare(word: str) -> Describe:
    return lambda value: Content(word, {})


SERVICE = "service"  # something happened in the chat: nobody's words
PLUMBING = "plumbing"  # belongs to other content, or says who, where and when

#: kinds of content whose part is called otherwise
_TYPES = {"live_photo": "photo", "dice": "sticker"}

#: What becomes of each field of a message: a function that describes content, or why it is none. The most telling
#: content first: an animation has a compatibility copy as a document, a venue one as a location.
CONTENT: dict[str, Describe | str] = {
    "text": PLUMBING,  # read before this table is
    "animation": _medium("animation"),
    "live_photo": _live_photo,
    "photo": _photo,
    "voice": _medium("voice"),
    "video_note": _medium("video note"),
    "audio": _medium("audio"),
    "video": _medium("video"),
    "document": _medium("file"),
    "sticker": _sticker,
    "venue": _venue,
    "location": _location,
    "contact": _contact,
    "poll": _poll,
    "dice": _dice,
    "story": _bare("story"),
    "paid_media": _bare("paid media"),
    "checklist": _checklist,
    "game": _bare("game"),
    "invoice": _bare("invoice"),
    "giveaway": _bare("giveaway"),
    "giveaway_winners": _bare("giveaway winners"),
    "rich_message": _bare("formatted message"),
    # who, where, when, how
    **dict.fromkeys(
        (
            "message_id", "message_thread_id", "direct_messages_topic", "from", "sender_chat", "sender_boost_count",
            "sender_business_bot", "sender_tag", "date", "edit_date", "guest_query_id", "guest_bot_caller_chat",
            "guest_bot_caller_user", "business_connection_id", "chat", "is_topic_message", "is_automatic_forward",
            "via_bot", "has_protected_content", "is_from_offline", "is_paid_post", "media_group_id",
            "author_signature", "paid_star_count", "entities", "link_preview_options", "suggested_post_info",
            "effect_id", "caption", "caption_entities", "show_caption_above_media", "has_media_spoiler",
            "reply_markup", "ephemeral_message_id",
            # what it answers, or whose words it passes on: read by `updates`
            "forward_origin", "forward_from", "forward_from_chat", "forward_from_message_id", "forward_sender_name",
            "forward_signature", "forward_date", "reply_to_message", "external_reply", "quote", "reply_to_story",
            "reply_to_checklist_task_id", "reply_to_poll_option_id",
        ),
        PLUMBING,
    ),
    # what happened
    **dict.fromkeys(
        (
            "new_chat_members", "left_chat_member", "chat_owner_left", "chat_owner_changed", "new_chat_title",
            "new_chat_photo", "delete_chat_photo", "group_chat_created", "supergroup_chat_created",
            "channel_chat_created", "message_auto_delete_timer_changed", "migrate_to_chat_id", "migrate_from_chat_id",
            "pinned_message", "successful_payment", "refunded_payment", "users_shared", "chat_shared", "gift",
            "unique_gift", "gift_upgrade_sent", "connected_website", "write_access_allowed", "passport_data",
            "proximity_alert_triggered", "boost_added", "chat_background_set", "checklist_tasks_done",
            "checklist_tasks_added", "direct_message_price_changed", "forum_topic_created", "forum_topic_edited",
            "forum_topic_closed", "forum_topic_reopened", "general_forum_topic_hidden",
            "general_forum_topic_unhidden", "giveaway_created", "giveaway_completed", "managed_bot_created",
            "paid_message_price_changed", "poll_option_added", "poll_option_deleted", "suggested_post_approved",
            "suggested_post_approval_failed", "suggested_post_declined", "suggested_post_paid",
            "suggested_post_refunded", "video_chat_scheduled", "video_chat_started", "video_chat_ended",
            "video_chat_participants_invited", "web_app_data",
        ),
        SERVICE,
    ),
}  # fmt: skip
