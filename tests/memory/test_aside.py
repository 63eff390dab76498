"""What a person leaves out of memory in one conversation stays where it was said, and counts everywhere else."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory import log, memory
from crossmemory.events import Actor
from crossmemory.memory import Aside, aside
from crossmemory.models import Conversation, Message, Owner, Preference
from tests.memory.places import ask, build, reasons, setting, texts, web

pytestmark = pytest.mark.django_db


def key(text: str) -> int:
    return Message.objects.values_list("pk", flat=True).get(text=text)


@pytest.fixture
def phone(user: Any) -> Conversation:
    return memory.get_singleton(user, "telegram")


@pytest.fixture
def chat(user: Any) -> Conversation:
    return web(user)


def spoken(user: Any, phone: Conversation, chat: Conversation) -> None:
    """On two phones and in two web chats."""
    memory.record_turn(user, "telegram", "on telegram", "re telegram")
    memory.record_turn(user, "whatsapp", "on whatsapp", "re whatsapp")
    memory.record_turn(user, "web", "on the web", "re web", conversation=chat)


def leave_out(place: Conversation, kind: str, what: Conversation, text: str) -> None:
    found: dict[str, Any] = {"surfaces": what.surface, "conversations": what.pk, "messages": key(text)}
    memory.leave_out(place, kind, found[kind])  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["surfaces", "conversations", "messages"])
def test_it_is_left_out_here_from_the_next_answer_on_and_nowhere_else(
    user: Any, phone: Conversation, chat: Conversation, kind: str
) -> None:
    spoken(user, phone, chat)
    here, there, whatsapp = web(user), web(user), memory.get_singleton(user, "whatsapp")
    leave_out(here, kind, phone, "on telegram")
    context = build(here, "hello")
    # An answer goes along with its question: it would stand there without what it answers.
    assert texts(context.messages) == ["on whatsapp", "re whatsapp", "hello"]
    assert reasons(context)["on telegram"] == "set aside"
    assert memory.left_out_here(here)[0].text == "on telegram"
    for place in (there, whatsapp, phone):
        assert "on telegram" in texts(memory.build_context(place).messages)
        assert memory.left_out_here(place) == []
    assert "on telegram" in texts(memory.load_cross_context(user))
    found: dict[str, Any] = {"surfaces": "telegram", "conversations": phone.pk, "messages": key("on telegram")}
    memory.leave_out(here, kind, found[kind], out=False)  # type: ignore[arg-type]
    assert here.aside is None
    assert "on telegram" in texts(build(here, "and now?").messages)


@pytest.mark.parametrize("kind", ["surfaces", "conversations", "messages"])
def test_on_a_secondary_surface_too(user: Any, phone: Conversation, chat: Conversation, kind: str) -> None:
    spoken(user, phone, chat)
    leave_out(phone, kind, chat, "on the web")
    context = memory.build_context(phone)
    assert texts(context.messages) == ["on telegram", "re telegram", "on whatsapp", "re whatsapp"]
    assert reasons(context)["on the web"] == "set aside"


def test_what_was_said_here_always_counts_here(user: Any, phone: Conversation, chat: Conversation) -> None:
    spoken(user, phone, chat)
    for kind, found in (("surfaces", "telegram"), ("conversations", phone.pk), ("messages", key("on telegram"))):
        memory.leave_out(phone, kind, found)  # type: ignore[arg-type]
    assert texts(memory.build_context(phone).messages)[:2] == ["on telegram", "re telegram"]
    assert memory.left_out_here(phone) == []


def test_the_newest_being_left_out_does_not_empty_the_window(user: Any, phone: Conversation, settings: Any) -> None:
    """Not "the newest N, then without those": the window is filled with what counts."""
    setting(settings, MAX_MESSAGES=4, RECENT_MAX_MESSAGES=4)
    loud, here = web(user), web(user)
    memory.record(user, "whatsapp", "user", "quiet")
    for number in range(30):
        ask(loud, f"loud {number}")
        memory.record(user, "telegram", "user", f"phone {number}")
    memory.leave_out(phone, "conversations", loud.pk)
    assert [text for text in texts(memory.build_context(phone).messages) if "loud" in text] == []
    assert len(memory.build_context(phone).messages) == 4
    memory.leave_out(here, "surfaces", "telegram")
    assert texts(memory.build_context(here).messages) == ["quiet"]


def test_what_is_out_of_reach_anyway_is_not_said_to_be_left_out(
    user: Any, other: Any, phone: Conversation, chat: Conversation
) -> None:
    spoken(user, phone, chat)
    memory.record(other, "telegram", "user", "of ben")
    memory.leave_out(chat, "surfaces", "telegram")
    assert texts(memory.left_out_here(chat)) == ["on telegram", "re telegram"]
    memory.leave_out(chat, "surfaces", "web")  # other web chats are not in play on the web
    assert texts(memory.left_out_here(chat)) == ["on telegram", "re telegram"]
    log.open_afresh(chat, Actor("user", str(user.pk)))
    assert memory.left_out_here(chat) == []
    apart = web(user, reads=False)
    memory.leave_out(apart, "surfaces", "telegram")
    assert memory.left_out_here(apart) == []


def test_switches_add_up_and_the_oldest_go(user: Any, chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = Conversation.objects.get(pk=chat.pk)
    memory.leave_out(chat, "surfaces", "telegram")
    memory.leave_out(stale, "surfaces", "whatsapp")
    memory.leave_out(stale, "surfaces", "whatsapp")
    chat.refresh_from_db()
    assert Aside.of(chat).surfaces == {"telegram", "whatsapp"}
    monkeypatch.setattr(aside, "MOST", 3)
    for number in range(5):
        memory.leave_out(chat, "messages", number)
    assert Aside.of(chat) == Aside(frozenset({"telegram", "whatsapp"}), frozenset(), frozenset({2, 3, 4}))


def test_it_costs_nothing_where_nothing_is_left_out(user: Any, phone: Conversation, chat: Conversation) -> None:
    spoken(user, phone, chat)
    with CaptureQueriesContext(connection) as plain:
        memory.build_context(phone)
    memory.leave_out(phone, "surfaces", "whatsapp")
    with CaptureQueriesContext(connection) as aside_too:
        memory.build_context(phone)
    assert len(aside_too) == len(plain) + 1


def test_another_fresh_start_everywhere_holds_too(user: Any, phone: Conversation, chat: Conversation) -> None:
    spoken(user, phone, chat)
    memory.leave_out(chat, "surfaces", "whatsapp")
    owner = Owner.of(user)
    Preference.objects.update_or_create(user=user, tenant=owner.tenant, defaults={"boundary": key("on whatsapp")})
    memory.record(user, "telegram", "user", "since then")
    assert texts(memory.build_context(chat).messages) == ["on the web", "re web", "since then"]
