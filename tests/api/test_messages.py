"""Messages are read backwards from the newest, and sent once however often they are sent."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory import log, turns
from crossmemory.events import Actor
from crossmemory.models import Conversation, Event, Message, Run
from tests.api.conftest import Api, answered, said

pytestmark = pytest.mark.django_db

MANIFEST = {
    "used": [
        {"id": 1, "own": False, "surface": "telegram"},
        {"id": 2, "own": False, "surface": "telegram"},
        {"id": 3, "own": True, "surface": "web"},
    ],
    "left_out": [{"id": 4, "reason": "count"}],
    "missing": False,
}


def nothing(*_: Any) -> None:
    """Nothing goes out."""


def feed(api: Api, chat: Conversation, query: str = "") -> dict[str, Any]:
    answer = api("get", f"conversations/{chat.uid}/messages/{query}")
    assert answer.status_code == 200
    return dict(answer.json())


def test_what_is_sent_is_stored_once(api: Api, chat: Conversation) -> None:
    first = api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "hello"})
    assert first.status_code == 201
    assert first.json() == {**first.json(), "seq": 2, "client_id": "c1", "duplicate": False}
    again = api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "hello"})
    assert again.status_code == 200
    assert again.json() == {**first.json(), "duplicate": True}
    assert Message.objects.count() == Run.objects.count() == 1


def test_a_client_id_with_another_text_is_a_conflict(api: Api, chat: Conversation) -> None:
    api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "hello"})
    answer = api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "bye"})
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")
    assert Message.objects.get().text == "hello"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"client_id": "c1", "text": ""}, "empty"),
        ({"client_id": "c1", "text": " \n\t"}, "empty"),
        ({"client_id": "c1"}, "empty"),
        ({"client_id": "c1", "text": None}, "invalid"),
        ({"client_id": "c1", "text": ["a"]}, "invalid"),
        ({"text": "hello"}, "invalid"),
        ({"client_id": "", "text": "hello"}, "invalid"),
        ({"client_id": "x" * 129, "text": "hello"}, "invalid"),
        ({"client_id": 7, "text": "hello"}, "invalid"),
        ({"client_id": "c1", "text": "x" * (64 * 1024 + 1)}, "too_long"),
        ({"client_id": "c1", "text": "x" * 1_000_000}, "too_long"),
        (["client_id"], "invalid"),
    ],
)
def test_what_cannot_be_stored_is_refused_by_name(api: Api, chat: Conversation, body: Any, code: str) -> None:
    answer = api("post", f"conversations/{chat.uid}/messages/", body)
    assert (answer.status_code, answer.json()["code"]) == (400, code)
    assert answer.json()["detail"]
    assert not Message.objects.exists()
    assert Event.objects.count() == 1


def test_a_text_of_the_largest_size_fits_escaped(api: Api, chat: Conversation) -> None:
    text = "\u00e9" * (32 * 1024)
    answer = api("post", f"conversations/{chat.uid}/messages/", json.dumps({"client_id": "c1", "text": text}))
    assert answer.status_code == 201
    assert Message.objects.get().text == text


@pytest.mark.parametrize(
    ("raw", "stored"),
    [
        (rb'{"client_id": "c1", "text": "a\u0000b"}', "a\ufffdb"),
        (rb'{"client_id": "c1", "text": "a\ud800b"}', "a\ufffdb"),
        (b'{"client_id": "c1", "text": "a\xed\xa0\x80b"}', "a\ufffdb"),
        (rb'{"client_id": "c1", "text": "\ud83d\ude00"}', "\U0001f600"),
    ],
)
def test_what_databases_refuse_is_cleaned(api: Api, chat: Conversation, raw: bytes, stored: str) -> None:
    assert api("post", f"conversations/{chat.uid}/messages/", raw).status_code == 201
    assert api("post", f"conversations/{chat.uid}/messages/", raw).json()["duplicate"] is True
    assert feed(api, chat)["messages"][0]["text"] == stored


def test_a_client_id_is_cleaned_too(api: Api, chat: Conversation) -> None:
    raw = rb'{"client_id": "c\u0000\ud800", "text": "hello"}'
    assert api("post", f"conversations/{chat.uid}/messages/", raw).json()["client_id"] == "c\ufffd\ufffd"


@pytest.mark.parametrize("raw", [b"{", b"\xff", b'{"a": NaN}', b"[" * 200_000, b"1" * 5000])
def test_what_is_not_json_is_refused(api: Api, chat: Conversation, raw: bytes) -> None:
    answer = api("post", f"conversations/{chat.uid}/messages/", raw)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_a_body_without_bounds_is_not_read(api: Api, chat: Conversation) -> None:
    answer = api("post", f"conversations/{chat.uid}/messages/", b" " * (1024 * 1024 + 1))
    assert (answer.status_code, answer.json()["code"]) == (413, "too_large")


def test_another_surface_is_written_to_there(api: Api, phone: Conversation) -> None:
    answer = api("post", f"conversations/{phone.uid}/messages/", {"client_id": "c1", "text": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (403, "read_only_here")
    assert not Message.objects.exists()


def test_the_feed_shows_what_was_said(api: Api, chat: Conversation, user: Any) -> None:
    question = said(chat, "Where <b>to</b>?", "c1")
    run = Run.objects.get()
    Run.objects.filter(pk=run.pk).update(manifest=MANIFEST)
    answer = answered(chat, "To **Rome**.", run)
    page = feed(api, chat)
    assert page["before"] is None
    asked, told = page["messages"]
    assert asked == {
        **asked,
        "id": str(question.uid),
        "seq": 2,
        "role": "user",
        "text": "Where <b>to</b>?",
        "html": None,
        "status": "complete",
        "actor": {"type": "user", "id": str(user.pk)},
        "surface": "web",
        "client_id": "c1",
        "run": None,
        "saw": None,
        "sent_at": None,
    }
    assert told == {
        **told,
        "id": str(answer.uid),
        "html": "<p>To <strong>Rome</strong>.</p>\n",
        "run": str(run.uid),
        "saw": {
            "count": 3,
            "elsewhere": [{"surface": "telegram", "label": "Telegram", "count": 2}],
            "left_out": 1,
            "missing": False,
        },
    }
    assert told["at"].endswith("Z")


def test_a_message_being_written_shows_its_text_so_far(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    run = turns.claim(Run.objects.get().pk, "test", nothing)
    assert run is not None
    message = turns.begin_answer(run, {}, "Good ")
    log.write(message, run, 5, "morn")
    shown = feed(api, chat)["messages"][-1]
    assert (shown["text"], shown["status"], shown["html"]) == ("Good morn", "writing", None)


def test_a_redacted_message_has_no_words(api: Api, chat: Conversation) -> None:
    stored = answered(chat, "secret")
    log.redact(Message.objects.get(pk=stored.id), Actor("user", "1"))
    shown = feed(api, chat)["messages"][0]
    assert (shown["text"], shown["html"], shown["status"]) == ("", None, "redacted")


@pytest.mark.parametrize("limit", [1, 3, 7, 50])
def test_walking_back_shows_each_message_once_while_others_arrive(api: Api, chat: Conversation, limit: int) -> None:
    seqs = [said(chat, f"message {number}").seq for number in range(10)]
    seen: list[int] = []
    page = feed(api, chat, f"?limit={limit}")
    while True:
        found = [message["seq"] for message in page["messages"]]
        assert found == sorted(found)
        seen = found + seen
        if page["before"] is None:
            break
        said(chat, "arrives meanwhile")
        page = feed(api, chat, f"?limit={limit}&before={page['before']}")
    assert seen == seqs


def test_before_the_first_there_is_nothing(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    assert feed(api, chat, "?before=2") == {"messages": [], "before": None}


@pytest.mark.parametrize("query", ["limit=0", "limit=201", "limit=-1", "limit=x", "before=0", "before=x", "before=1e3"])
def test_a_wrong_page_is_refused(api: Api, chat: Conversation, query: str) -> None:
    assert api("get", f"conversations/{chat.uid}/messages/?{query}").json()["code"] == "invalid"


def test_the_feed_costs_the_same_however_long_it_is(api: Api, chat: Conversation) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            feed(api, chat)
        return len(captured)

    said(chat, "hello")
    feed(api, chat)
    before = queries()
    for number in range(10):
        run = Run.objects.create(conversation=chat, agent="default", trigger=2, status="completed", manifest=MANIFEST)
        answered(chat, f"answer {number}", run)
    assert queries() == before
