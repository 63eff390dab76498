"""Who may come in, and how refusals are told."""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import InterfaceError, OperationalError, connection
from django.test import Client
from django.utils import translation
from rest_framework.authtoken.models import Token

from crossmemory import exceptions, intake
from crossmemory.api import errors, urls
from crossmemory.models import Conversation, Event, Message
from tests.api.conftest import ROOT, Api

pytestmark = pytest.mark.django_db(transaction=True)

MISSING = "6f8a1c7e-0000-4000-8000-000000000000"


def addresses() -> list[str]:
    return [
        ROOT + str(each.pattern).replace("<str:uid>", MISSING).replace("<str:seq>", "1") for each in urls.urlpatterns
    ]


@pytest.mark.parametrize("method", ["get", "post", "patch", "delete", "put", "head", "options"])
@pytest.mark.parametrize("address", addresses())
def test_nobody_comes_in_without_signing_in(address: str, method: str) -> None:
    answer = getattr(Client(), method)(address)
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"]
    if method != "head":
        assert answer.json()["code"] == "not_signed_in"


@pytest.mark.parametrize("address", addresses())
def test_every_address_says_what_it_takes(api: Api, address: str) -> None:
    answer = api("options", address)
    assert answer.status_code == 200
    allowed = {method.strip() for method in answer["Allow"].split(",")}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - allowed:
        refused = api(method.lower(), address)
        assert (refused.status_code, refused.json()["code"]) == (405, "method_not_allowed")
        assert {each.strip() for each in refused["Allow"].split(",")} == allowed


def test_head_is_get_without_a_body(api: Api, chat: Conversation) -> None:
    for path in ("", f"{chat.uid}/", f"{chat.uid}/messages/", f"{chat.uid}/events/?wait=20"):
        answer = api("head", f"conversations/{path}")
        assert (answer.status_code, answer.content) == (200, b"")


def test_answers_are_nobody_elses_to_keep(api: Api, chat: Conversation) -> None:
    for path in ("", f"{chat.uid}/events/", f"{MISSING}/"):
        assert "no-store" in api("get", f"conversations/{path}")["Cache-Control"]


def test_a_browser_must_bring_its_token(user: Any) -> None:
    browser = Api(user, enforce_csrf_checks=True)
    answer = browser("post", "conversations/", {})
    assert (answer.status_code, answer.json()["code"]) == (403, "csrf")
    assert answer.json()["detail"].startswith("CSRF")
    assert not Conversation.objects.exists()
    token = "a" * 32
    browser.client.cookies["csrftoken"] = token
    assert browser("post", "conversations/", {}, **{"X-CSRFToken": "b" * 32}).status_code == 403
    assert browser("post", "conversations/", {}, **{"X-CSRFToken": token}).status_code == 201
    assert browser("get", "conversations/").status_code == 200


def test_a_program_comes_in_by_the_sites_token(user: Any, chat: Conversation) -> None:
    headers = {"Authorization": f"Token {Token.objects.create(user=user).key}"}
    program = Client(enforce_csrf_checks=True)
    body = json.dumps({"client_id": "c1", "text": "hello"})
    address = f"{ROOT}conversations/{chat.uid}/messages/"
    assert program.post(address, body, content_type="application/json", headers=headers).status_code == 201
    assert program.get(f"{ROOT}conversations/{chat.uid}/events/", headers=headers).status_code == 200
    wrong = {"Authorization": "Token nonsense"}
    for path in ("", f"{chat.uid}/events/"):
        answer = program.get(f"{ROOT}conversations/{path}", headers=wrong)
        assert (answer.status_code, answer.json()["code"]) == (401, "not_signed_in")


def test_who_was_deactivated_stays_out(api: Api, user: Any, chat: Conversation) -> None:
    get_user_model().objects.filter(pk=user.pk).update(is_active=False)
    for path in ("", f"{chat.uid}/events/"):
        assert api("get", f"conversations/{path}").status_code == 401


def test_bodies_are_json(api: Api) -> None:
    answer = api.client.post(f"{ROOT}conversations/", {"title": "form"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


def test_whatever_a_client_accepts_it_gets_json(api: Api) -> None:
    for headers in ({"Accept": "text/html"}, {"Accept": "application/xml"}):
        answer = api("get", "conversations/?format=xml", **headers)
        assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")


def test_refusals_speak_the_persons_language(api: Api) -> None:
    for language in ("en", "es"):
        answer = api("get", f"conversations/{MISSING}/", **{"Accept-Language": language})
        with translation.override(language):
            assert answer.json() == {"code": "not_found", "detail": str(errors.NOT_FOUND)}


def away(marks: str) -> Any:
    """A database that dies at the first statement with these words in it."""

    def execute(run: Any, sql: str, *args: Any) -> Any:
        if marks in sql:
            raise OperationalError("server closed the connection unexpectedly")
        return run(sql, *args)

    return connection.execute_wrapper(execute)


def test_the_database_gone_is_said_and_nothing_is_half_stored(api: Api, chat: Conversation) -> None:
    address, body = f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "hello"}
    with away("crossmemory_event"):
        answer = api("post", address, body)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.json()["detail"]
    assert int(answer["Retry-After"]) > 0
    assert not Message.objects.exists()
    assert Event.objects.count() == 1
    chat.refresh_from_db()
    assert chat.head == 1
    assert api("post", address, body).status_code == 201


def test_the_database_gone_before_anybody_is_known(api: Api, chat: Conversation) -> None:
    with away(""):
        assert api("get", "conversations/").status_code == 503


def test_the_database_gone_while_the_log_is_read(api: Api, chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: Any) -> None:
        raise InterfaceError("connection already closed")

    monkeypatch.setattr("crossmemory.attach.reader.snapshot", gone)
    answer = api("get", f"conversations/{chat.uid}/events/")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")


def test_atomic_requests_hold_no_transaction_open(
    api: Api, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    inside: list[bool] = []
    say = intake.say_on_the_page

    def watched(*args: Any, **kwargs: Any) -> Any:
        inside.append(connection.in_atomic_block)
        return say(*args, **kwargs)

    monkeypatch.setattr(intake, "say_on_the_page", watched)
    answer = api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "hello"})
    assert (answer.status_code, inside) == (201, [False])
    assert api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": ""}).status_code == 400
    assert api("get", f"conversations/{chat.uid}/events/").status_code == 200
    assert api("get", "conversations/").status_code == 200


def test_every_exception_of_the_app_has_an_answer() -> None:
    kinds = [each for each in vars(exceptions).values() if isinstance(each, type)]
    for kind in kinds:
        answer = errors.answer(kind(), {})
        assert answer is not None
        assert answer.data["code"] == kind.code
        assert answer.data["detail"]


def test_our_own_mistakes_are_not_hidden(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("crossmemory.api.conversations.mine", broken)
    with pytest.raises(ZeroDivisionError):
        api("get", "conversations/")
