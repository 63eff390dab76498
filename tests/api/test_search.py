"""GET search/: the person's whole history, theirs alone."""

from typing import Any

import pytest

from crossmemory import log, memory
from crossmemory.models import Conversation, Owner
from tests.api.conftest import Api, said

pytestmark = pytest.mark.django_db


def texts(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [found["text"] for found in answer.json()["results"]]


def test_a_result_says_where_when_and_what_stood_around_it(api: Api, chat: Conversation) -> None:
    stored = [said(chat, text) for text in ("good morning", "the dentist is on Thursday", "bye")]
    answer = api("get", "search/?q=dentists")
    assert answer.json()["next"] is None
    found = answer.json()["results"][0]
    before, after = found.pop("before"), found.pop("after")
    assert found.pop("at")
    assert [message["id"] for message in (*before, *after)] == [str(stored[0].uid), str(stored[2].uid)]
    assert found == {
        "id": str(stored[1].uid),
        "role": "user",
        "text": "the dentist is on Thursday",
        "surface": "web",
        "surface_label": "Web",
        "conversation": str(chat.uid),
        "seq": stored[1].seq,
        "title": "Trip",
        "shared": True,
    }


def test_their_own_private_chats_and_all_assistants_are_searched(api: Api, user: Any) -> None:
    said(log.create(Owner.of(user), "web", shared=False), "a private zebra")
    said(log.create(Owner.of(user, "poet"), "web"), "a poetic zebra")
    assert sorted(texts(api("get", "search/?q=zebra"))) == ["a poetic zebra", "a private zebra"]
    assert texts(api("get", "search/?q=zebra&agent=poet")) == ["a poetic zebra"]
    assert texts(api("get", "search/?q=zebra&agent=nobody")) == []


def test_pages(api: Api, chat: Conversation) -> None:
    for number in range(5):
        said(chat, f"zebra {number}")
    first = api("get", "search/?q=zebra&limit=2")
    seen, following = texts(first), first.json()["next"]
    while following:
        answer = api("get", following)
        seen += texts(answer)
        following = answer.json()["next"]
    assert sorted(seen) == [f"zebra {number}" for number in range(5)]


def test_it_is_narrowed_by_surface_and_time(api: Api, chat: Conversation, phone: Conversation) -> None:
    said(chat, "zebra on the web")
    said(phone, "zebra on the phone")
    assert texts(api("get", "search/?q=zebra&surface=telegram")) == ["zebra on the phone"]
    assert texts(api("get", "search/?q=zebra&until=2020-01-01")) == []
    assert len(texts(api("get", "search/?q=zebra&since=2020-01-01T10:00:00Z"))) == 2


def test_what_was_deleted_is_not_found(api: Api, chat: Conversation) -> None:
    stored = said(chat, "zebra")
    assert texts(api("get", "search/?q=zebra")) == ["zebra"]
    assert api("delete", f"conversations/{chat.uid}/messages/{stored.uid}/").status_code == 204
    assert texts(api("get", "search/?q=zebra")) == []


def test_nobody_else_finds_it(stranger: Api, api: Api, chat: Conversation) -> None:
    said(chat, "zebra")
    assert texts(stranger("get", "search/?q=zebra")) == texts(stranger("get", "search/?q=zebar")) == []
    api.client.logout()
    assert api("get", "search/?q=zebra").status_code == 401


@pytest.mark.parametrize(
    "query",
    [
        "q=x&limit=0",
        "q=x&limit=51",
        "q=x&limit=two",
        "q=x&offset=-1",
        "q=x&offset=501",
        "q=x&surface=pager",
        "q=x&since=yesterday",
        "q=x&until=2026-13-01",
        "q=x&since=0001-01-01T00:00:00%2B10:00",
        "q=" + "x" * 1001,
    ],
)
def test_bad_input_is_refused(api: Api, query: str) -> None:
    answer = api("get", f"search/?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


@pytest.mark.parametrize(
    "query", ["", "q=", "q=%00", "q=%ff", "q='\"*:()", "q=zebra%00", "q=%F0%9F%8E%89", "agent=%00&q=x"]
)
def test_odd_input_finds_nothing(api: Api, chat: Conversation, query: str) -> None:
    said(chat, "something")
    assert texts(api("get", f"search/?{query}")) == []


def test_many_results_cost_no_more_queries(
    api: Api, user: Any, chat: Conversation, django_assert_max_num_queries: Any
) -> None:
    for number in range(30):
        memory.record(user, "web", "user", f"zebra {number}", conversation=chat)
    with django_assert_max_num_queries(70):  # SQLite looks around each of the best messages by itself
        assert len(texts(api("get", "search/?q=zebra&limit=30"))) == 30
