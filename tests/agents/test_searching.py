"""The tool that looks up what was said before the window."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import log, memory
from crossmemory.agents import Unkept, search_memory
from crossmemory.memory import Context
from crossmemory.models import Conversation, Owner

pytestmark = pytest.mark.django_db


def asked(user: Any, conversation: Conversation, question: str, **limits: Any) -> Context:
    """The context of an answer to this question, with a window of one message."""
    memory.record(user, conversation.surface, "user", question, conversation=conversation)
    context = memory.build_context(conversation)
    return replace(context, messages=context.messages[-1:])


def found(context: Context, query: str, **more: Any) -> list[str]:
    return [record["text"] for record in search_memory(context, query, **more).shown["found"]]


def test_it_finds_what_the_window_has_lost(user: Any) -> None:
    stored = [
        memory.record(user, "telegram", "user", text)
        for text in ("hello", "the dentist moved us to Thursday", "bring the forms")
    ]
    context = asked(user, log.create(Owner.of(user), "web"), "when is the dentist?")
    result = search_memory(replace(context, time_zone="Europe/Madrid"), "dentist")
    [record, *_] = result.shown["found"]
    assert (record["surface"], record["by"], record["text"]) == (
        "Telegram",
        "person",
        "the dentist moved us to Thursday",
    )
    assert record["at"].endswith(("+01:00", "+02:00"))
    assert [each["text"] for each in (*record["before"], *record["after"])] == ["hello", "bring the forms"]
    assert result.kept["messages"][0] == str(stored[1].uid)
    assert result.kept["found"] == len(result.shown["found"])


def test_what_is_kept_of_it_holds_no_words(user: Any) -> None:
    memory.record(user, "telegram", "user", "the secret zebra")
    result = search_memory(asked(user, log.create(Owner.of(user), "web"), "hm?"), "zebra")
    assert "zebra" in str(result.shown)
    assert "zebra" not in str(result.kept)


def test_what_it_sees_already_is_not_found_again(user: Any) -> None:
    context = asked(user, log.create(Owner.of(user), "web"), "what about the zebra?")
    assert found(context, "zebra") == []


def test_it_finds_nothing_that_this_conversation_may_not_know(user: Any, other: Any) -> None:
    owner = Owner.of(user)
    memory.record(user, "telegram", "user", "the shared zebra")
    memory.record(other, "telegram", "user", "somebody's zebra")
    memory.record(user, "telegram", "user", "the poet's zebra", agent="poet")
    private = log.create(owner, "web", shared=False)
    memory.record(user, "web", "user", "the private zebra", conversation=private)
    assert found(asked(user, log.create(owner, "web"), "?!"), "zebra") == ["the shared zebra"]
    assert found(asked(user, log.create(owner, "web", reads=False), "?!"), "zebra") == []


def test_days_narrow_it_and_what_is_no_day_does_not(user: Any) -> None:
    memory.record(user, "telegram", "user", "the zebra")
    context = asked(user, log.create(Owner.of(user), "web"), "?!")
    today = timezone.now().date()
    assert found(context, "zebra", since=str(today), until=str(today)) == ["the zebra"]
    assert found(context, "zebra", until=str(today - timedelta(days=1))) == []
    assert found(context, "zebra", since="yesterday", until="9999-12-31") == ["the zebra"]


def test_without_anybody_it_finds_nothing() -> None:
    assert search_memory(Context([]), "zebra") == Unkept({"found": []}, {"found": 0})
