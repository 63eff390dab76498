"""Conversations are listed newest first, begun, changed and deleted."""

import threading
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from crossmemory import log
from crossmemory.models import Conversation, Event, Message, Owner, Run
from tests.api.conftest import Api, answered, said

pytestmark = pytest.mark.django_db


def test_a_new_conversation_is_on_the_web_and_feeds_memory(api: Api) -> None:
    answer = api("post", "conversations/", {})
    assert answer.status_code == 201
    made = answer.json()
    assert made == {
        **made,
        "title": "",
        "surface": "web",
        "surface_label": "Web",
        "agent": "default",
        "singleton": False,
        "read_only": False,
        "open_url": None,
        "shared": True,
        "reads": True,
        "head": 1,
        "read_seq": 0,
        "unread": 0,
        "run": "idle",
        "paused": None,
    }
    assert api("get", f"conversations/{made['id']}/").json() == made
    assert api("get", "conversations/").json() == {"results": [made], "next": None}


def test_title_and_memory_can_be_chosen(api: Api) -> None:
    made = api("post", "conversations/", {"title": "  A \u0000  trip\ud800 ", "shared": False}).json()
    assert (made["title"], made["shared"]) == ("A \ufffd trip\ufffd", False)


@pytest.mark.parametrize(
    "body",
    [
        {"title": "[Telegram]"},
        {"title": 3},
        {"title": "x" * 201},
        {"shared": "yes"},
        {"agent": "nobody"},
        {"agent": None},
        [],
        "text",
    ],
)
def test_what_is_wrong_is_refused_in_words(api: Api, body: Any) -> None:
    answer = api("post", "conversations/", body)
    assert answer.status_code == 400
    assert answer.json()["code"] == "invalid"
    assert answer.json()["detail"]
    assert not Conversation.objects.exists()


def test_what_is_changed_is_an_event_and_the_rest_stays(api: Api, chat: Conversation) -> None:
    answer = api("patch", f"conversations/{chat.uid}/", {"title": "Journey", "shared": False, "reads": False})
    assert answer.status_code == 200
    assert [answer.json()[name] for name in ("title", "shared", "reads")] == ["Journey", False, False]
    assert Event.objects.filter(type="conversation.renamed").count() == 1
    assert api("patch", f"conversations/{chat.uid}/", {"reads": True}).json()["title"] == "Journey"
    assert Event.objects.filter(type="conversation.renamed").count() == 1


def test_a_change_is_made_as_a_whole_or_not_at_all(api: Api, chat: Conversation, phone: Conversation) -> None:
    assert api("patch", f"conversations/{chat.uid}/", {"shared": False, "title": "[X]"}).status_code == 400
    assert api("patch", f"conversations/{phone.uid}/", {"shared": False, "title": "X"}).status_code == 400
    assert all(Conversation.objects.values_list("shared", flat=True))


@pytest.mark.django_db(transaction=True)
def test_changes_at_the_same_time_are_all_made(user: Any) -> None:
    chat = log.create(Owner.of(user), "web", "old")
    for number in range(10):
        answered(chat, f"answer {number}")
    calls = [
        ("patch", "", {"title": "new"}), ("patch", "", {"shared": False}), ("patch", "", {"reads": False}),
        ("post", "read/", {"seq": 9}), ("post", "read/", {"seq": 5}), ("post", "read/", {"seq": 7}),
    ]  # fmt: skip
    devices = [Api(user) for _ in calls]
    together = threading.Barrier(len(calls))
    statuses: list[int] = []

    def change(device: Api, method: str, path: str, values: dict[str, Any]) -> None:
        together.wait(10)
        try:
            statuses.append(device(method, f"conversations/{chat.uid}/{path}", values).status_code)
        finally:
            connections.close_all()

    threads = [
        threading.Thread(target=change, args=(device, *call)) for device, call in zip(devices, calls, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * len(calls)
    chat.refresh_from_db()
    assert (chat.title, chat.shared, chat.reads, chat.read_seq) == ("new", False, False, 9)


def test_a_secondary_surface_is_read_only_on_the_web(api: Api, phone: Conversation) -> None:
    shown = api("get", f"conversations/{phone.uid}/").json()
    assert (shown["title"], shown["surface_label"], shown["singleton"]) == ("[Telegram]", "Telegram", True)
    assert shown["read_only"] is True


def test_a_surface_that_is_no_longer_set_up_is_still_listed(api: Api, user: Any) -> None:
    log.get_or_create_singleton(Owner.of(user), "pager", "[Pager]")
    (shown,) = api("get", "conversations/").json()["results"]
    assert (shown["surface_label"], shown["read_only"], shown["open_url"]) == ("Pager", True, None)


def test_deleting_leaves_nothing_and_a_surface_begins_anew(api: Api, phone: Conversation, user: Any) -> None:
    said(phone, "hello")
    assert api("delete", f"conversations/{phone.uid}/").status_code == 204
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
    assert not Event.objects.exists()
    assert api("delete", f"conversations/{phone.uid}/").status_code == 404
    assert log.get_or_create_singleton(Owner.of(user), "telegram", "[Telegram]").uid != phone.uid


def test_unread_counts_answers_after_what_was_read(api: Api, chat: Conversation) -> None:
    said(chat, "one")
    answered(chat, "first")
    second = answered(chat, "second")
    answered(chat, "third")
    assert api("get", f"conversations/{chat.uid}/").json()["unread"] == 3
    assert api("post", f"conversations/{chat.uid}/read/", {"seq": second.seq}).json() == {"read_seq": second.seq}
    assert api("get", "conversations/").json()["results"][0]["unread"] == 1
    assert api("post", f"conversations/{chat.uid}/read/", {"seq": 1}).json() == {"read_seq": second.seq}
    assert api("post", f"conversations/{chat.uid}/read/", {"seq": 10**6}).json() == {"read_seq": second.seq}


def test_unread_stops_counting(api: Api, chat: Conversation) -> None:
    for number in range(102):
        answered(chat, f"answer {number}")
    assert api("get", f"conversations/{chat.uid}/").json()["unread"] == 99


@pytest.mark.parametrize("seq", [None, "2", -1, 2.5, True, 2**70])
def test_only_a_place_can_be_read_up_to(api: Api, chat: Conversation, seq: Any) -> None:
    assert api("post", f"conversations/{chat.uid}/read/", {"seq": seq}).json()["code"] == "invalid"


@pytest.mark.parametrize(
    ("statuses", "shown"),
    [
        ([], "idle"),
        (["completed"], "idle"),
        (["failed"], "failed"),
        (["failed", "completed"], "idle"),
        (["completed", "queued"], "queued"),
        (["running", "queued"], "running"),
        (["awaiting_approval"], "awaiting_approval"),
    ],
)
def test_the_state_of_the_run_is_shown(api: Api, chat: Conversation, statuses: list[str], shown: str) -> None:
    for status in statuses:
        Run.objects.create(conversation=chat, agent="default", trigger=2, status=status)
    assert api("get", "conversations/").json()["results"][0]["run"] == shown


def test_stopping_takes_what_waits_out_of_the_queue(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    assert api("post", f"conversations/{chat.uid}/stop/", {}).json() == {"stopped": True}
    assert Run.objects.get().status == "stopped"
    assert api("post", f"conversations/{chat.uid}/stop/").json() == {"stopped": False}


def test_pages_show_every_conversation_once_whatever_moves(api: Api, user: Any) -> None:
    chats = [log.create(Owner.of(user), "web", f"chat {number}") for number in range(7)]
    moment = chats[0].updated_at
    Conversation.objects.filter(pk__in=[chat.pk for chat in chats[:4]]).update(updated_at=moment)
    seen: list[str] = []
    page = api("get", "conversations/?limit=2").json()
    while True:
        seen += [each["id"] for each in page["results"]]
        if page["next"] is None:
            break
        assert page["next"].startswith("/api/crossmemory/conversations/?")
        log.create(Owner.of(user), "web", "made meanwhile")
        page = api("get", page["next"]).json()
    assert sorted(seen) == sorted(str(chat.uid) for chat in chats)


def test_the_list_is_newest_first_and_can_keep_to_one_assistant(api: Api, user: Any) -> None:
    old, new = (log.create(Owner.of(user, agent), "web", agent) for agent in ("default", "poet"))
    assert [each["agent"] for each in api("get", "conversations/").json()["results"]] == ["poet", "default"]
    said(old, "moves up")
    assert [each["agent"] for each in api("get", "conversations/").json()["results"]] == ["default", "poet"]
    assert [each["id"] for each in api("get", "conversations/?agent=poet").json()["results"]] == [str(new.uid)]


@pytest.mark.parametrize("query", ["cursor=nonsense", "cursor=%C3%A4", "limit=0", "limit=101", "limit=x", "cursor=MA"])
def test_a_page_that_is_none_is_refused(api: Api, query: str) -> None:
    assert api("get", f"conversations/?{query}").json()["code"] == "invalid"


def test_the_list_costs_the_same_however_much_there_is(api: Api, user: Any) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            api("get", "conversations/")
        return len(captured)

    first = log.create(Owner.of(user), "web", "one")
    api("get", "conversations/")
    before = queries()
    said(first, "hello")
    for number in range(5):
        answered(log.create(Owner.of(user), "web", f"chat {number}"), "answer")
    assert queries() == before
