"""The JSON doors and the phone page, through Django's own client."""

import json
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from project.sandbox.models import Bot, Chat, Update
from tests.sandbox.conftest import TOKEN

pytestmark = pytest.mark.django_db(transaction=True)
DOORS = "/sandbox/telegram"


def post(client: Client, door: str, body: Any) -> Any:
    raw = body if isinstance(body, bytes | str) else json.dumps(body)
    return client.post(f"{DOORS}/{door}", raw, content_type="application/json")


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[]", "JSON object"),
        ({"text": "x"}, "user_id is missing"),
        ({"user_id": "ana", "text": "x"}, "user_id must be a whole number"),
        ({"user_id": True, "text": "x"}, "user_id must be a whole number"),
        ({"user_id": 2**70, "text": "x"}, "user_id must be a whole number"),
        ({"user_id": 5001}, "text is empty"),
        ({"user_id": 5001, "text": 5}, "text must be a string"),
        ({"user_id": 5001, "text": " \n"}, "text is empty"),
        ({"user_id": 5001, "text": "😀" * 2049}, "4098 UTF-16 units"),
        ({"user_id": 5001, "text": "x", "times": 1000}, "times"),
        ({"user_id": 5001, "text": "x", "bot": "nobody_bot"}, "no bot"),
    ],
)
def test_say_names_what_is_wrong(client: Client, body: Any, word: str) -> None:
    answer = post(client, "say", body)
    assert answer.status_code in (400, 404)
    assert word in answer.json()["error"]
    assert not Update.objects.exists()


def test_before_any_bot_called_updates_wait_for_the_one_in_the_settings(client: Client) -> None:
    assert set(post(client, "say", {"user_id": 5001, "text": "early"}).json()) == {"update_id", "message_id"}
    assert Update.objects.get().bot_id == 7000000001


def test_the_only_bot_that_called_is_meant_and_else_the_one_in_the_settings(client: Client) -> None:
    client.post(f"{DOORS}/bot42:another/getMe")
    post(client, "say", {"user_id": 5001, "text": "for 42"})
    client.post(f"{DOORS}/bot{TOKEN}/getMe")
    post(client, "say", {"user_id": 5001, "text": "for ours"})
    post(client, "say", {"user_id": 5001, "text": "for 42 by name", "bot": "sandbox_42_bot"})
    assert list(Update.objects.order_by("id").values_list("bot_id", flat=True)) == [42, 7000000001, 42]


@pytest.mark.parametrize(
    "body",
    [
        {"message": {"message_id": 7, "chat": {"id": 5001, "type": "private"}, "text": "nul \x00 and \ud83d alone"}},
        {"message": {"message_id": "seven", "chat": [], "text": 5}},
        {"message": "not an object"},
        {"something_new": {"deep": [1, None]}},
        {"message": {"message_id": 8, "chat": {"id": -1001, "type": "supergroup", "title": "Dock"}, "voice": {}}},
        {"edited_message": {}, "update_id": 2**40},
    ],
)
def test_a_raw_update_is_delivered_as_it_came(client: Client, body: dict[str, Any]) -> None:
    update_id = post(client, "update", body).json()["update_id"]
    result = client.post(f"{DOORS}/bot{TOKEN}/getUpdates").json()["result"]
    assert result == [{"update_id": update_id, **{k: v for k, v in body.items() if k != "update_id"}}]


@pytest.mark.parametrize(
    "body", [{}, {"update_id": 5}, {"update_id": "x", "message": {}}, {"update_id": -1, "poll": {}}]
)
def test_an_update_without_content_or_with_a_bad_id_is_refused(client: Client, body: dict[str, Any]) -> None:
    assert post(client, "update", body).status_code == 400


def test_a_raw_message_shows_on_the_phone_and_the_next_id_follows(client: Client) -> None:
    chat = {"id": 5001, "type": "private", "first_name": "Ana"}
    post(client, "update", {"message": {"message_id": 41, "chat": chat, "date": 1, "voice": {"duration": 4}}})
    assert post(client, "say", {"user_id": 5001, "text": "next"}).json()["message_id"] == 42
    shown = client.get(f"{DOORS}/chat?chat_id=5001").json()["messages"]
    assert [(m["message_id"], m["media"], m["text"]) for m in shown] == [(41, "voice", ""), (42, "", "next")]


def test_the_chat_tells_only_what_changed(client: Client) -> None:
    said = post(client, "say", {"user_id": 5001, "text": "one"}).json()
    first = client.get(f"{DOORS}/chat?chat_id=5001").json()
    assert client.get(f"{DOORS}/chat?chat_id=5001&since={first['version']}").json()["messages"] == []
    post(client, "edit", {"user_id": 5001, "message_id": said["message_id"], "text": "two"})
    (changed,) = client.get(f"{DOORS}/chat?chat_id=5001&since={first['version']}").json()["messages"]
    assert (changed["text"], changed["edited"]) == ("two", True)


def test_the_outbox_begins_after_a_message_and_says_when_more_was_left_out(client: Client) -> None:
    post(client, "say", {"user_id": 5001, "text": "hello"})
    for n in range(4):
        client.post(f"{DOORS}/bot{TOKEN}/sendMessage", {"chat_id": 5001, "text": str(n)})
    found = client.get(f"{DOORS}/outbox?chat_id=5001&after=3").json()
    assert [m["text"] for m in found["messages"]] == ["2", "3"]
    newest = client.get(f"{DOORS}/outbox?chat_id=5001&limit=1").json()
    assert ([m["text"] for m in newest["messages"]], newest["more"]) == (["3"], True)
    assert client.get(f"{DOORS}/outbox?chat_id=ana").status_code == 400


def test_the_wrong_verb_and_the_wrong_origin_are_refused(client: Client) -> None:
    assert client.get(f"{DOORS}/say").status_code == 405
    foreign = client.post(f"{DOORS}/say", "{}", content_type="text/plain", headers={"Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code == 403


def test_everything_is_shut_without_debug_or_the_setting(client: Client, settings: Any) -> None:
    settings.SANDBOX = settings.DEBUG = False
    assert "sandbox is off" in post(client, "say", {"user_id": 5001, "text": "x"}).json()["error"]
    assert client.get(f"{DOORS}/phone/5001/").status_code == 404
    assert client.post(f"{DOORS}/bot{TOKEN}/getMe").status_code == 404
    assert not Bot.objects.exists()


def test_the_phone_may_be_framed_by_this_site_and_runs_no_inline_code(client: Client) -> None:
    page = client.get(f"{DOORS}/phone/5001/")
    assert page["X-Frame-Options"] == "SAMEORIGIN"
    assert "script-src 'self'" in page["Content-Security-Policy"]
    html = page.content.decode()
    assert "<style" not in html
    assert " style=" not in html
    assert html.count("<script") == html.count('<script type="module" src=')


@pytest.mark.parametrize(("code", "offered"), [("Ab_-9", True), ("", False), ("no spaces", False), ("x" * 65, False)])
def test_a_deep_link_offers_start_with_its_code(client: Client, code: str, offered: bool) -> None:
    page = client.get(f"{DOORS}/open/crossmemory_demo_bot", {"start": code}).content.decode()
    assert (f'data-start="/start {code}"' in page) is offered


@pytest.mark.parametrize("path", ["open/nobody_bot", f"phone/{2**70}/", "open/crossmemory_demo_bot?user_id=x"])
def test_an_unknown_phone_is_not_found(client: Client, path: str) -> None:
    assert client.get(f"{DOORS}/{path}").status_code == 404


def test_the_phone_speaks_spanish(client: Client) -> None:
    page = client.get(f"{DOORS}/phone/5001/", headers={"Accept-Language": "es"}).content.decode()
    assert '<html lang="es">' in page
    assert "Bloquear el bot" in page
    translation.activate("en")


def test_opening_a_phone_does_not_let_the_bot_write_first(client: Client) -> None:
    client.get(f"{DOORS}/phone/5001/")
    assert not Chat.objects.exists()
    answer = client.post(f"{DOORS}/bot{TOKEN}/sendMessage", {"chat_id": 5001, "text": "hi"})
    assert "can't initiate conversation" in answer.json()["description"]
