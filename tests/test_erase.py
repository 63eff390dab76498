"""Forgetting reaches every table, also when the site deletes the user."""

import json
from typing import Any

import pytest
from django.apps import apps
from django.db import models
from django.utils import timezone

from crossmemory import erase, log, memory
from crossmemory.events import Actor
from crossmemory.models import (
    Conversation,
    DailyUse,
    Delivery,
    Event,
    InboundUpdate,
    LinkCode,
    Message,
    Preference,
    SurfaceLink,
)

pytestmark = pytest.mark.django_db(transaction=True)


def live(person: Any, word: str) -> Conversation:
    """Everything that a person can leave behind, with `word` in each text."""
    link = SurfaceLink.objects.create(
        user=person, surface="telegram", account="1", external_id=f"x{person.pk}", name=word
    )
    LinkCode.objects.create(user=person, surface="telegram", code_hash=word, expires_at=timezone.now())
    Preference.objects.create(user=person, language="en")
    DailyUse.objects.create(user=person, agent=word, resets_at=timezone.now())
    memory.record_turn(person, "telegram", f"my {word}", f"your {word}")
    phone = memory.get_singleton(person, "telegram")
    InboundUpdate.objects.create(
        surface="telegram", account="1", external_id=f"u{person.pk}", raw=word.encode(), link=link, conversation=phone
    )
    Delivery.objects.create(
        message=Message.objects.get(text=f"your {word}"),
        conversation=phone,
        surface="telegram",
        account="1",
        chat="5",
        payload={"text": word},
    )
    return phone


def everything() -> str:
    """Every value of every row of the app."""
    found: list[Any] = []
    for model in apps.get_app_config("crossmemory").get_models():
        rows: models.QuerySet[Any] = model._default_manager.all()
        found += [[str(bytes(v) if isinstance(v, memoryview) else v) for v in row] for row in rows.values_list()]
    return json.dumps(found)


def test_deleting_a_user_leaves_nothing_of_them_and_all_of_others(user: Any, other: Any) -> None:
    live(user, "secret-of-ana")
    live(other, "words-of-ben")
    assert "secret-of-ana" in everything()
    user.delete()
    left = everything()
    assert "secret-of-ana" not in left
    for text in ("my words-of-ben", "your words-of-ben"):
        assert text in left
    assert not Conversation.objects.filter(user=user.pk or 0).exists()


def test_deleting_a_conversation_takes_its_rows_and_no_others(user: Any) -> None:
    phone = live(user, "secret")
    memory.record(user, "web", "user", "kept words", conversation=log.create(log_owner(user), "web"))
    erase.conversation(phone)
    left = everything()
    for gone in ("my secret", "your secret"):
        assert gone not in left
    assert "kept words" in left
    assert memory.get_singleton(user, "telegram").pk != phone.pk


def log_owner(user: Any) -> Any:
    from crossmemory.models import Owner

    return Owner.of(user)


def test_a_forgotten_message_is_gone_from_row_log_and_outbox(user: Any) -> None:
    phone = live(user, "secret")
    before = Conversation.objects.get(pk=phone.pk)
    erase.message(Message.objects.get(text="your secret"), Actor("user", str(user.pk)))
    assert "your secret" not in everything()
    assert "my secret" in everything()
    after = Conversation.objects.get(pk=phone.pk)
    assert after.epoch != before.epoch
    assert after.kept_bytes == sum(Event.objects.filter(conversation=phone).values_list("bytes", flat=True))
    assert "your secret" not in [message.text for message in memory.load_cross_context(user)]
    delivery = Delivery.objects.get(message__isnull=False)
    assert (delivery.payload, delivery.status) == ({}, "cancelled")


def test_forgetting_twice_is_the_same_as_once(user: Any) -> None:
    live(user, "secret")
    message = Message.objects.get(text="your secret")
    erase.message(message, Actor("user", "1"))
    erase.message(message, Actor("user", "1"))
    assert Message.objects.get(pk=message.pk).status == "redacted"


def test_every_table_with_a_persons_rows_is_known_to_erasing() -> None:
    """A new model must be thought of: this list is the inventory that `erase` covers."""
    known = {
        "Conversation", "Message", "MessageChunk", "MessageRevision", "Event", "Run", "SurfaceLink", "LinkCode",
        "InboundUpdate", "Delivery", "Preference", "Poller", "ToolCall", "Attachment", "DailyUse", "Pause",
    }  # fmt: skip
    assert {model.__name__ for model in apps.get_app_config("crossmemory").get_models()} == known
