"""Pieces handed to a Bot API that fails in every way that was planned."""

import warnings
from datetime import timedelta
from typing import Any

import httpx
import pytest
from telegram import error as errors

from crossmemory import intake
from crossmemory.surfaces import Destination, Inbound, Piece
from crossmemory.surfaces.telegram import TelegramSurface, sending
from tests.sandbox.conftest import Doors
from tests.telegram.conftest import ANA, BOT

TO_ANA = Destination("telegram", BOT, str(ANA))


@pytest.fixture(autouse=True)
async def _ana_has_written(doors: Doors) -> None:
    await doors.say("hello")


async def outbox(doors: Doors) -> Any:
    return (await doors.get("outbox", chat_id=ANA))["messages"]


async def test_a_piece_arrives_with_its_entities(surface: TelegramSurface, doors: Doors) -> None:
    (piece,) = surface.render("a **bold** 🎩 `word`")
    outcome = await surface.deliver(TO_ANA, piece)
    (message,) = await outbox(doors)
    assert (outcome.fate, outcome.external_id) == ("sent", str(message["message_id"]))
    assert message["text"] == "a bold 🎩 word"
    assert [entity["type"] for entity in message["entities"]] == ["bold", "code"]


async def test_a_long_answer_arrives_whole(surface: TelegramSurface, doors: Doors) -> None:
    text = "\n\n".join(f"Paragraph {n} " + "word " * 60 for n in range(40))
    for piece in surface.render(text):
        assert (await surface.deliver(TO_ANA, piece)).fate == "sent"
    arrived = " ".join([message["text"] for message in await outbox(doors)])
    assert arrived.split() == text.split()


async def test_a_rate_limit_says_how_long(surface: TelegramSurface, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "status": 429, "retry_after": 33})
    outcome = await surface.deliver(TO_ANA, Piece("x"))
    assert (outcome.fate, outcome.retry_after) == ("rate_limited", 33)


@pytest.mark.parametrize(
    ("fault", "fate"),
    [
        ({"status": 403}, "blocked"),
        ({"status": 403, "description": "Forbidden: user is deactivated"}, "blocked"),
        ({"status": 400, "description": "Bad Request: chat not found"}, "blocked"),
        ({"status": 400, "description": "Bad Request: message is too long"}, "failed"),
        ({"status": 500}, "retry"),
        ({"status": 502}, "retry"),
        ({"status": 504}, "unknown"),
        ({"status": 401}, "retry"),
        ({"drop": "before"}, "unknown"),
        ({"drop": "after"}, "unknown"),
    ],
)
async def test_an_error_is_sorted(surface: TelegramSurface, doors: Doors, fault: dict[str, Any], fate: str) -> None:
    await doors.post("fault", {"method": "sendMessage", **fault})
    assert (await surface.deliver(TO_ANA, Piece("x"))).fate == fate


async def test_a_group_that_moved_names_its_new_id(surface: TelegramSurface, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "migrate_to_chat_id": -1002345678901})
    outcome = await surface.deliver(TO_ANA, Piece("x"))
    assert (outcome.fate, outcome.chat) == ("retry", "-1002345678901")


async def test_a_server_that_is_down_has_received_nothing(surface: TelegramSurface, server: Any) -> None:
    server.stop()
    try:
        assert (await surface.deliver(TO_ANA, Piece("x"))).fate == "retry"
    finally:
        server._start()


async def test_refused_markup_goes_once_more_as_the_original_words(surface: TelegramSurface, doors: Doors) -> None:
    await doors.post("fault", {"method": "sendMessage", "status": 400})
    (piece,) = surface.render("see [the site](http://example.test)")
    assert (await surface.deliver(TO_ANA, piece)).fate == "sent"
    (message,) = await outbox(doors)
    assert message["text"] == "see [the site](http://example.test)"


async def test_a_repeated_piece_says_that_it_may_be_one(surface: TelegramSurface, doors: Doors) -> None:
    (piece,) = surface.render("a **bold** word")
    label = {"label": "(Again?)"}
    await surface.deliver(TO_ANA, Piece(piece.text, {**piece.payload, **label}))
    await surface.deliver(TO_ANA, Piece("Q" * 4096, label))
    first, label_alone, full = await outbox(doors)
    assert first["text"] == "(Again?)\n\na bold word"
    assert first["entities"] == [{"type": "bold", "offset": 12, "length": 4}]
    assert (label_alone["text"], full["text"]) == ("(Again?)", "Q" * 4096)


@pytest.mark.parametrize("seconds", [7, timedelta(seconds=7)])
def test_retry_after_may_be_a_timedelta(seconds: Any) -> None:
    assert sending.seconds(seconds) == 7


@pytest.mark.parametrize("switch", ["true", "false"])
def test_a_rate_limit_is_read_without_a_warning(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = errors.RetryAfter(7)
    monkeypatch.setenv("PTB_TIMEDELTA", switch)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert sending.asked_to_wait(error) == 7


@pytest.mark.parametrize(
    ("cause", "fate"),
    [
        (httpx.ConnectTimeout("x"), "retry"),
        (httpx.PoolTimeout("x"), "retry"),
        (httpx.ReadTimeout("x"), "unknown"),
        (httpx.WriteTimeout("x"), "unknown"),
    ],
)
def test_a_time_out_before_sending_is_no_unknown_fate(cause: Exception, fate: str) -> None:
    error = errors.TimedOut()
    error.__cause__ = cause
    assert sending.sort(error).fate == fate


def test_an_answer_that_cannot_be_read_is_an_unknown_fate() -> None:
    assert sending.sort(errors.TelegramError("Invalid server response")).fate == "unknown"


async def test_the_token_reaches_no_log(
    surface: TelegramSurface, doors: Doors, caplog: pytest.LogCaptureFixture
) -> None:
    import logging

    with caplog.at_level(logging.DEBUG):
        await surface.deliver(TO_ANA, Piece("x"))  # from the first use on
        logging.getLogger("httpx").warning("HTTP Request: POST %s", f"{surface.api_url}/bot{surface.token}/getMe")
        await surface.deliver(TO_ANA, Piece("x"))
    assert surface.token not in caplog.text
    assert surface.token not in repr(surface)


async def test_a_press_is_acknowledged_and_one_that_is_too_old_counts_all_the_same(
    surface: TelegramSurface, doors: Doors
) -> None:
    buttons = [[{"text": "Yes", "data": "ask:1:yes"}]]
    outcome = await surface.deliver(TO_ANA, Piece("Sure?", {"buttons": buttons}))
    await doors.post("press", {"user_id": ANA, "message_id": int(outcome.external_id), "data": "ask:1:yes"})
    updates = await surface.bot().get_updates()
    query = updates[-1].callback_query
    assert query is not None
    await surface.acknowledge(Inbound("button", press=query.id))
    description = "Bad Request: query is too old and response timeout expired or query ID is invalid"
    await doors.post("fault", {"method": "answerCallbackQuery", "status": 400, "description": description})
    await surface.acknowledge(Inbound("button", press=query.id))
    await doors.post("fault", {"method": "answerCallbackQuery", "drop": "before"})
    await surface.acknowledge(Inbound("button", press=query.id))


async def test_the_menu_is_offered_in_each_language(surface: TelegramSurface, doors: Doors) -> None:
    from telegram import BotCommandScopeAllPrivateChats

    await surface.publish_menu(intake.menus())
    private = BotCommandScopeAllPrivateChats()
    english = await surface.bot().get_my_commands(private)
    spanish = await surface.bot().get_my_commands(private, "es")
    assert "forget" in [each.command for each in english]
    assert "olvidar" in [each.command for each in spanish]
    await doors.post("fault", {"method": "setMyCommands", "status": 500, "times": 2})
    await surface.publish_menu(intake.menus())  # a menu is a convenience
