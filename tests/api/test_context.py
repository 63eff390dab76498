"""What the assistant would see, and what it saw."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory import log, memory
from crossmemory.models import Conversation, Message, Owner, Run, SurfaceLink
from tests.api.conftest import Api, answered, said

pytestmark = pytest.mark.django_db


def texts(answer: Any) -> list[str]:
    assert answer.status_code == 200
    return [message["text"] for message in answer.json()["messages"]]


def test_the_web_sees_what_was_said_on_the_phone(api: Api, chat: Conversation, phone: Conversation) -> None:
    stored = said(phone, "my dog is Bo")
    said(chat, "hello")
    answer = api("get", f"context/?conversation={chat.uid}")
    assert texts(answer) == ["my dog is Bo", "hello"]
    first = answer.json()["messages"][0]
    assert first == {
        **first,
        "id": str(stored.uid),
        "role": "user",
        "surface": "telegram",
        "surface_label": "Telegram",
        "own": False,
        "conversation": str(phone.uid),
    }
    assert answer.json()["messages"][1]["own"] is True


def test_what_is_kept_out_is_named_without_its_words(api: Api, chat: Conversation, user: Any) -> None:
    private = log.create(Owner.of(user), "web", "private", shared=False)
    stored = said(private, "secret")
    said(chat, "hello")
    answer = api("get", f"context/?conversation={chat.uid}")
    assert answer.json()["left_out"] == [{"id": str(stored.uid), "reason": "not_shared"}]
    assert b"secret" not in answer.content


def test_a_surface_that_was_never_used_can_be_previewed_without_making_it(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    assert texts(api("get", "context/?surface=telegram")) == ["hello"]
    assert texts(api("get", "context/?surface=web")) == []
    assert Conversation.objects.count() == 1


def test_a_surface_that_stays_apart_sees_nothing(api: Api, chat: Conversation, user: Any) -> None:
    said(chat, "hello")
    SurfaceLink.objects.create(
        user=user, surface="telegram", account="1", external_id="5", sharing="separate", status="active"
    )
    assert texts(api("get", "context/?surface=telegram")) == []


def test_the_phone_as_it_is(api: Api, chat: Conversation, phone: Conversation) -> None:
    said(chat, "on the web")
    said(phone, "on the phone")
    assert texts(api("get", "context/?surface=telegram")) == ["on the web", "on the phone"]
    assert texts(api("get", f"context/?conversation={phone.uid}")) == ["on the web", "on the phone"]


def test_assistants_do_not_see_each_other(api: Api, chat: Conversation, user: Any) -> None:
    poet = log.create(Owner.of(user, "poet"), "web", "poems")
    said(poet, "a rhyme")
    said(chat, "a plan")
    assert texts(api("get", "context/?surface=telegram")) == ["a plan"]
    assert texts(api("get", "context/?surface=telegram&agent=poet")) == ["a rhyme"]


@pytest.mark.parametrize(
    ("query", "status"),
    [("", 400), ("surface=telegram&conversation=x", 400), ("surface=pager", 404), ("surface=", 404)],
)
def test_one_place_must_be_named(api: Api, query: str, status: int) -> None:
    assert api("get", f"context/?{query}").status_code == status


def saw(conversation: Conversation, status: str = "completed") -> Run:
    manifest = memory.build_context(conversation).manifest.as_json()
    return Run.objects.create(conversation=conversation, agent="default", trigger=2, status=status, manifest=manifest)


def test_a_run_shows_what_the_assistant_saw(api: Api, chat: Conversation, phone: Conversation, user: Any) -> None:
    private = log.create(Owner.of(user), "web", "private", shared=False)
    kept_out = said(private, "secret")
    said(phone, "my dog is Bo")
    said(chat, "hello")
    run = saw(chat)
    answer = api("get", f"runs/{run.uid}/")
    assert texts(answer) == ["my dog is Bo", "hello"]
    shown = answer.json()
    assert (shown["id"], shown["status"]) == (str(run.uid), "completed")
    assert shown["saw"]["elsewhere"] == [{"surface": "telegram", "label": "Telegram", "count": 1}]
    assert [message["own"] for message in shown["messages"]] == [False, True]
    assert shown["left_out"] == [{"id": str(kept_out.uid), "reason": "not_shared"}]


def test_what_was_deleted_since_is_not_shown(api: Api, chat: Conversation, phone: Conversation) -> None:
    said(phone, "my dog is Bo")
    said(chat, "hello")
    run = saw(chat)
    assert api("delete", f"conversations/{phone.uid}/").status_code == 204
    assert texts(api("get", f"runs/{run.uid}/")) == ["hello"]


def test_a_run_that_has_not_begun_saw_nothing(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    shown = api("get", f"runs/{Run.objects.get().uid}/").json()
    assert shown == {**shown, "status": "queued", "saw": None, "messages": [], "left_out": []}


def test_a_manifest_never_leads_to_somebody_else(api: Api, chat: Conversation, user: Any, other: Any) -> None:
    foreign = said(log.create(Owner.of(other), "web"), "foreign")
    poem = said(log.create(Owner.of(user, "poet"), "web"), "a rhyme")
    entries = [{"id": stored.id, "own": False, "surface": "web"} for stored in (foreign, poem)]
    manifest = {"used": entries, "left_out": [{"id": foreign.id, "reason": "count"}], "missing": False}
    run = Run.objects.create(conversation=chat, agent="default", trigger=2, status="completed", manifest=manifest)
    shown = api("get", f"runs/{run.uid}/").json()
    assert (shown["messages"], shown["left_out"]) == ([], [])


def test_looking_costs_the_same_however_much_is_seen(api: Api, chat: Conversation, phone: Conversation) -> None:
    def queries() -> list[int]:
        run = saw(chat)
        counts = []
        for path in (f"context/?conversation={chat.uid}", "context/?surface=telegram", f"runs/{run.uid}/"):
            with CaptureQueriesContext(connection) as captured:
                assert api("get", path).status_code == 200
            counts.append(len(captured))
        return counts

    said(phone, "hello")
    said(chat, "hello")
    queries()
    before = queries()
    for number in range(5):
        answered(phone, f"answer {number}")
        said(chat, f"question {number}")
    assert queries() == before
    assert Message.objects.count() == 12
