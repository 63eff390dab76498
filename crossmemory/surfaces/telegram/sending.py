"""Handing one piece to the Bot API, and sorting what comes back before anything is done about it."""

from __future__ import annotations

import asyncio
import contextlib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from crossmemory.surfaces.base import Destination, Outcome, Piece
from crossmemory.surfaces.telegram.rendering import MAX_LENGTH
from crossmemory.surfaces.telegram.splitting import units

if TYPE_CHECKING:
    from telegram import Bot
    from telegram.error import RetryAfter

_ALTOGETHER_SECONDS = 20.0  # for all calls that one piece may need; below the lease of a delivery
_ACKNOWLEDGE_SECONDS = 5.0  # for telling the phone that its press arrived, which nobody misses

#: words of a Bad Request that mean "this person is gone"
_GONE = ("chat not found", "user not found", "peer_id_invalid", "user is deactivated", "chat_write_forbidden")
_NOTHING_TO_EDIT = ("message is not modified", "message to edit not found", "message can't be edited")
_TOO_LONG = ("message is too long", "text is too long", "message text is empty", "text must be non-empty")
_NO_TOPIC = ("thread not found", "topic_closed", "topic_deleted")
_NOT_THE_MARKUP = (*_TOO_LONG, *_NO_TOPIC)


async def send(bot: Bot, destination: Destination, piece: Piece) -> Outcome:
    """One piece as one message. Errors are outcomes."""
    try:
        async with asyncio.timeout(_ALTOGETHER_SECONDS):
            return await _send(bot, destination, piece)
    except TimeoutError:
        return Outcome("unknown", error="No answer in time.")


async def _send(bot: Bot, destination: Destination, piece: Piece) -> Outcome:
    """Where the topic is gone or closed, once more to the same chat without it: never to another chat."""
    outcome = await _send_to(bot, destination, piece)
    if destination.topic and outcome.fate == "failed" and _says(outcome.error, _NO_TOPIC):
        outcome = await _send_to(bot, replace(destination, topic=""), piece)
        if outcome.fate == "sent":
            outcome = replace(outcome, topic="")
    return outcome


async def _send_to(bot: Bot, destination: Destination, piece: Piece) -> Outcome:
    label, text, entities = str(piece.payload.get("label") or ""), piece.text, piece.payload.get("entities") or []
    if edits := piece.payload.get("edits"):
        return await _edit(bot, destination, str(edits), text, entities)
    if label:
        joined, moved = _labelled(label, text, entities)
        if units(joined) <= MAX_LENGTH:
            text, entities = joined, moved
        else:
            outcome = await _say(bot, destination, label, [])
            if outcome.fate != "sent":
                return outcome
    buttons = piece.payload.get("buttons")
    outcome = await _say(bot, destination, text, entities, buttons)
    if outcome.fate == "failed" and entities and not _says(outcome.error, _NOT_THE_MARKUP):
        plain = str(piece.payload.get("plain") or piece.text)
        outcome = await _say(bot, destination, plain if units(plain) <= MAX_LENGTH else piece.text, [], buttons)
    return outcome


async def _say(
    bot: Bot, destination: Destination, text: str, entities: list[Mapping[str, Any]], buttons: Any = None
) -> Outcome:
    from telegram import InlineKeyboardButton, InlineKeyboardMarkup, ReplyParameters

    options: dict[str, Any] = {}
    if destination.topic and destination.topic != "1":  # the General topic refuses its own id
        options["message_thread_id"] = int(destination.topic)
    if destination.reply_to:
        options["reply_parameters"] = ReplyParameters(int(destination.reply_to), allow_sending_without_reply=True)
    if buttons:
        rows = [[InlineKeyboardButton(each["text"], callback_data=each["data"]) for each in row] for row in buttons]
        options["reply_markup"] = InlineKeyboardMarkup(rows)
    outcome = await _call(bot.send_message, entities, chat_id=destination.chat, text=text, **options)
    topic = str(options.get("message_thread_id", ""))
    return replace(outcome, topic=None) if outcome.topic == topic or not topic else outcome


async def _edit(
    bot: Bot, destination: Destination, message: str, text: str, entities: list[Mapping[str, Any]]
) -> Outcome:
    """Another text for a message of ours; its buttons go. One that is there already, or whose message the person
    deleted, is no trouble."""
    outcome = await _call(bot.edit_message_text, entities, chat_id=destination.chat, message_id=int(message), text=text)
    if outcome.fate == "failed" and _says(outcome.error, _NOTHING_TO_EDIT):
        return Outcome("sent", external_id=message)
    return replace(outcome, topic=None)


async def _call(method: Callable[..., Any], entities: list[Mapping[str, Any]], **options: Any) -> Outcome:
    """A call that answers with a message: `topic` is where that message stands."""
    from telegram import MessageEntity
    from telegram.error import TelegramError

    if entities:
        options["entities"] = [MessageEntity(**entity) for entity in entities]
    try:
        message = await method(**{**options, "chat_id": int(options["chat_id"])})
    except TelegramError as error:
        return sort(error)
    except (ValueError, TypeError) as error:  # a payload or an id that cannot be one
        return Outcome("failed", error=repr(error))
    return Outcome("sent", external_id=str(message.message_id), topic=str(message.message_thread_id or ""))


async def acknowledge(bot: Bot, press: str) -> None:
    """A press has arrived: the phone stops waiting. One that came too late for that counts all the same."""
    from telegram.error import TelegramError

    with contextlib.suppress(TelegramError, TimeoutError):
        async with asyncio.timeout(_ACKNOWLEDGE_SECONDS):
            await bot.answer_callback_query(press)


def sort(error: Exception) -> Outcome:
    """What an error of the Bot API's client means for the message that met it.

    The classes stand in an order that matters: BadRequest and TimedOut are NetworkErrors too.
    """
    from telegram import error as errors

    said = str(error)
    if isinstance(error, errors.RetryAfter):
        return Outcome("rate_limited", error=said, retry_after=asked_to_wait(error))
    if isinstance(error, errors.ChatMigrated):
        return Outcome("retry", error=said, chat=str(error.new_chat_id))
    if isinstance(error, errors.Forbidden):
        return Outcome("blocked", error=said)
    if isinstance(error, errors.BadRequest):
        return Outcome("blocked" if _says(said, _GONE) else "failed", error=said)
    if isinstance(error, (errors.InvalidToken, errors.EndPointNotFound, errors.Conflict)):
        return Outcome("retry", error=said)
    if isinstance(error, errors.NetworkError):
        return Outcome("retry" if never_left(error) or _not_carried_out(error) else "unknown", error=said)
    return Outcome("unknown", error=said)  # an answer that cannot be read: the message may be there


def asked_to_wait(error: RetryAfter) -> float:
    """Seconds that a rate limit asks for."""
    from telegram.warnings import PTBDeprecationWarning

    with warnings.catch_warnings():  # outside the bot's process the library announces the other type at each access
        warnings.simplefilter("ignore", PTBDeprecationWarning)
        return seconds(error.retry_after)


def seconds(retry_after: float | timedelta) -> float:
    """`retry_after` as seconds: a number, or a timedelta where PTB_TIMEDELTA is set (and in the next major version)."""
    return retry_after.total_seconds() if isinstance(retry_after, timedelta) else float(retry_after)


def never_left(error: BaseException) -> bool:
    """Whether the trouble came before the request could have reached the platform."""
    import httpx

    return isinstance(error.__cause__, (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout))


def was_answered(error: BaseException) -> bool:
    """Whether the server answered, if only by an HTTP error: no trouble of the connection."""
    import httpx
    from telegram.error import TimedOut

    return not isinstance(error, TimedOut) and not isinstance(error.__cause__, httpx.HTTPError)


def _not_carried_out(error: BaseException) -> bool:
    """An HTTP error (5xx) says that the request was not carried out; a gateway's time-out does not say it."""
    return was_answered(error) and error.__cause__ is None and "timeout" not in str(error).lower()


def _says(error: str, words: tuple[str, ...]) -> bool:
    return any(word in error.lower() for word in words)


def _labelled(label: str, text: str, entities: list[Mapping[str, Any]]) -> tuple[str, list[Mapping[str, Any]]]:
    before = f"{label}\n\n"
    moved: list[Mapping[str, Any]] = [{**entity, "offset": entity["offset"] + units(before)} for entity in entities]
    return before + text, moved
