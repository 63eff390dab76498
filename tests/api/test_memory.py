"""What is remembered in a conversation from others, and leaving it out there."""

from typing import Any

import pytest

from crossmemory import log, memory
from crossmemory.models import Conversation, Message, Owner
from tests.api.conftest import Api, said

pytestmark = pytest.mark.django_db


def shown(answer: Any) -> list[Any]:
    """(surface, left out, conversations) with (title, left out, messages) with (text, left out)."""
    assert answer.status_code == 200, answer.content
    return [
        (
            surface["label"],
            surface["left_out"],
            [
                (place["title"], place["left_out"], [(each["text"], each["left_out"]) for each in place["messages"]])
                for place in surface["conversations"]
            ],
        )
        for surface in answer.json()["surfaces"]
    ]


def test_what_is_in_play_stands_by_surface_and_conversation(
    api: Api, chat: Conversation, phone: Conversation, user: Any
) -> None:
    first, second = said(phone, "my dog is Bo"), said(phone, "and he is old")
    said(chat, "hello")
    answer = api("get", f"conversations/{chat.uid}/memory/")
    messages = [("my dog is Bo", False), ("and he is old", False)]
    assert shown(answer) == [("Telegram", False, [("[Telegram]", False, messages)])]
    place = answer.json()["surfaces"][0]["conversations"][0]
    assert (place["id"], [each["id"] for each in place["messages"]]) == (
        str(phone.uid),
        [str(first.uid), str(second.uid)],
    )
    assert place["messages"][0].keys() == {"id", "role", "text", "at", "left_out"}
    on_phone = shown(api("get", f"conversations/{phone.uid}/memory/"))
    assert on_phone == [("Web", False, [("Trip", False, [("hello", False)])])]


@pytest.mark.parametrize("kind", ["surface", "conversation", "message"])
def test_each_can_be_left_out_and_taken_back(api: Api, chat: Conversation, phone: Conversation, kind: str) -> None:
    stored = said(phone, "my dog is Bo")
    said(chat, "hello")
    address, name = f"conversations/{chat.uid}/memory/", {"surface": "telegram", "conversation": str(phone.uid)}
    change = {kind: name.get(kind, str(stored.uid))}
    flags = (kind == "surface", kind == "conversation", kind == "message")
    for out in (True, True, False):
        surface, place, message = (flag and out for flag in flags)
        wanted = [("Telegram", surface, [("[Telegram]", place, [("my dog is Bo", message)])])]
        assert shown(api("patch", address, {**change, "left_out": out})) == wanted
        assert shown(api("get", address)) == wanted
        context = api("get", f"context/?conversation={chat.uid}").json()
        assert ("my dog is Bo" in [each["text"] for each in context["messages"]]) is not out
        assert context["left_out"] == ([{"id": str(stored.uid), "reason": "set_aside"}] if out else [])


def test_what_is_left_out_stays_listed_without_messages(api: Api, chat: Conversation, phone: Conversation) -> None:
    address = f"conversations/{chat.uid}/memory/"
    assert shown(api("patch", address, {"surface": "telegram", "left_out": True})) == [("Telegram", True, [])]
    assert shown(api("patch", address, {"conversation": str(phone.uid), "left_out": True})) == [
        ("Telegram", True, [("[Telegram]", True, [])])
    ]


def test_a_chat_that_does_not_read_says_so(api: Api, chat: Conversation, phone: Conversation) -> None:
    said(phone, "my dog is Bo")
    log.set_reads(chat, False)
    assert api("get", f"conversations/{chat.uid}/memory/").json() == {"reads": False, "surfaces": []}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"left_out": True}, 400),
        ({"surface": "telegram", "message": "x", "left_out": True}, 400),
        ({"surface": "telegram", "left_out": "yes"}, 400),
        ({"surface": 7, "left_out": True}, 400),
        ({"surface": "nowhere", "left_out": True}, 404),
        ({"conversation": "no id", "left_out": True}, 404),
        ({"message": "00000000-0000-4000-8000-000000000000", "left_out": True}, 404),
    ],
)
def test_what_cannot_be_meant_is_refused(api: Api, chat: Conversation, body: Any, status: int) -> None:
    assert api("patch", f"conversations/{chat.uid}/memory/", body).status_code == status
    chat.refresh_from_db()
    assert chat.aside is None


def test_what_was_said_here_or_belongs_to_others_cannot_be_left_out(
    api: Api, chat: Conversation, user: Any, other: Any
) -> None:
    own = said(chat, "hello")
    foreign = log.create(Owner.of(other), "web", "theirs")
    poet = log.create(Owner.of(user, "poet"), "web", "of another assistant")
    rhyme = memory.record(user, "web", "user", "a rhyme", conversation=poet, agent="poet")
    theirs = said(foreign, "theirs")
    address = f"conversations/{chat.uid}/memory/"
    for body, status in (
        ({"message": str(own.uid)}, 400),
        ({"conversation": str(chat.uid)}, 400),
        ({"message": str(theirs.uid)}, 404),
        ({"conversation": str(foreign.uid)}, 404),
        ({"message": str(rhyme.uid)}, 404),
        ({"conversation": str(poet.uid)}, 404),
    ):
        assert api("patch", address, {**body, "left_out": True}).status_code == status, body
    chat.refresh_from_db()
    assert chat.aside is None
    assert Message.objects.count() == 3
