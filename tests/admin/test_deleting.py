"""Deleting a person or a conversation works from real admin pages, and leaves nothing."""

from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from crossmemory.models import Conversation, Event, InboundUpdate, Message, Pause, Poller
from crossmemory.testing.factories import ConversationFactory, MessageFactory, UserFactory
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import MODELS, make, page

pytestmark = pytest.mark.django_db(transaction=True)

PERSON = get_user_model()._meta.model_name  # as permissions name it
USER = get_user_model()._meta.label_lower.replace(".", "_")  # as the admin names its pages


def left() -> dict[str, int]:
    counted = {model.__name__: model._default_manager.count() for model in MODELS if model not in (Pause, Poller)}
    return {name: count for name, count in counted.items() if count}


def test_a_superuser_deletes_a_person(boss: Client) -> None:
    ana = UserFactory()
    make(ana)
    url = reverse(f"admin:{USER}_delete", args=[ana.pk])
    assert "cannot be deleted" not in boss.get(url).content.decode()
    assert boss.post(url, {"post": "yes"}).status_code == 302
    assert not get_user_model().objects.filter(pk=ana.pk).exists()
    assert left() == {}


def test_a_superuser_deletes_people_in_the_list(boss: Client) -> None:
    people = [UserFactory(), UserFactory()]
    for person in people:
        make(person)
    data = {"action": "delete_selected", "_selected_action": [each.pk for each in people], "post": "yes"}
    assert boss.post(reverse(f"admin:{USER}_changelist"), data).status_code == 302
    assert left() == {}


def test_others_survive(boss: Client) -> None:
    ana, ben = UserFactory(), UserFactory()
    make(ana)
    make(ben, surface="telegram")
    boss.post(reverse(f"admin:{USER}_delete", args=[ana.pk]), {"post": "yes"})
    assert set(Message.objects.values_list("owner", flat=True)) == {ben.pk}
    assert InboundUpdate.objects.count() == 1


def test_staff_who_may_delete_people_and_conversations_may(helper: Any) -> None:
    ana = UserFactory()
    make(ana)
    url = reverse(f"admin:{USER}_delete", args=[ana.pk])
    helper.user_permissions.add(*permissions(f"delete_{PERSON}", f"view_{PERSON}", "delete_conversation"))
    assert signed_in(helper).post(url, {"post": "yes"}).status_code == 302
    assert left() == {}


def test_whoever_may_deletes_a_conversation(helper: Any) -> None:
    conversation = make(UserFactory())[Conversation]
    url = page(Conversation, "delete", conversation.pk)
    assert signed_in(helper).post(url, {"post": "yes"}).status_code == 403
    helper.user_permissions.add(*permissions("delete_conversation"))
    client = signed_in(get_user_model().objects.get(pk=helper.pk))
    assert client.get(url).status_code == 200
    assert client.post(url, {"post": "yes"}).status_code == 302
    assert not Conversation.objects.filter(pk=conversation.pk).exists()
    assert not Message.objects.filter(conversation=conversation.pk).exists()
    assert not Event.objects.filter(conversation=conversation.pk).exists()


def test_deleting_a_conversation_loads_none_of_its_messages(boss: Client) -> None:
    def cost(conversation: Conversation) -> int:
        url = page(Conversation, "delete", conversation.pk)
        with CaptureQueriesContext(connection) as captured:
            assert len(boss.get(url).content) < 50_000
            assert boss.post(url, {"post": "yes"}).status_code == 302
        assert not any('SELECT "crossmemory_message"."id", ' in query["sql"] for query in captured)
        return len(captured)

    cost(ConversationFactory())  # fills Django's caches
    few = cost(ConversationFactory())
    long = ConversationFactory()
    for _ in range(150):
        MessageFactory(conversation=long)
    assert cost(long) == few


def test_several_conversations_go_at_once(boss: Client) -> None:
    make(UserFactory())
    keys = list(Conversation.objects.values_list("pk", flat=True))
    data = {"action": "delete_selected", "_selected_action": keys}
    assert "with all that was said in it" in boss.post(page(Conversation, "changelist"), data).content.decode()
    assert boss.post(page(Conversation, "changelist"), {**data, "post": "yes"}).status_code == 302
    assert not Conversation.objects.exists()
    assert not Message.objects.exists()
