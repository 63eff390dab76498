"""Every page opens, costs the same for more rows, and lets nobody change history."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crossmemory.admin import paging
from crossmemory.models import Conversation, Message, Pause, Preference, Run
from crossmemory.testing.factories import ConversationFactory, MessageFactory, UserFactory
from tests.admin.world import MODELS, make, page

pytestmark = pytest.mark.django_db


def queries(client: Client, url: str) -> int:
    client.get(url)
    with CaptureQueriesContext(
        connection,
    ) as captured:
        response = client.get(url)
    assert response.status_code == 200
    return len(captured)


def test_every_model_is_registered() -> None:
    from django.apps import apps

    assert set(MODELS) == set(apps.get_app_config("crossmemory").get_models())


@pytest.mark.parametrize("model", MODELS)
def test_a_list_costs_the_same_for_more_rows(model: type, boss: Client) -> None:
    make(UserFactory())
    few = queries(boss, page(model, "changelist"))
    for _ in range(3):
        make(UserFactory(), surface="telegram")
    assert queries(boss, page(model, "changelist")) == few <= 8


@pytest.mark.parametrize("model", MODELS)
def test_a_page_opens(model: type, boss: Client) -> None:
    row = make(UserFactory())[model]
    assert queries(boss, page(model, "change", row.pk)) <= 14


def test_a_conversation_costs_the_same_for_more_messages(boss: Client) -> None:
    conversation = make(UserFactory())[Conversation]
    url = page(Conversation, "change", conversation.pk)
    few, everywhere = queries(boss, url), queries(boss, f"{url}?places=all")
    for number in range(20):
        MessageFactory(conversation=conversation, role="assistant" if number % 2 else "user")
    assert (queries(boss, url), queries(boss, f"{url}?places=all")) == (few, everywhere)


@pytest.mark.parametrize("model", [model for model in MODELS if model not in (Preference, Pause)])
def test_history_is_only_read(model: type, boss: Client) -> None:
    row = make(UserFactory())[model]
    assert boss.get(page(model, "add")).status_code == 403
    assert boss.post(page(model, "change", row.pk), {"text": "other", "title": "other"}).status_code == 403
    if model is not Conversation:
        assert boss.post(page(model, "delete", row.pk), {"post": "yes"}).status_code == 403
        data = {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"}
        boss.post(page(model, "changelist"), data)
    assert model._default_manager.filter(pk=row.pk).exists()  # type: ignore[attr-defined]


def test_a_preference_is_set(boss: Client) -> None:
    row = make(UserFactory())[Preference]
    data = {"user": row.user_id, "tenant": "", "language": "es", "time_zone": "Europe/Madrid"}
    assert boss.post(page(Preference, "change", row.pk), data).status_code == 302
    row.refresh_from_db()
    assert (row.language, row.time_zone) == ("es", "Europe/Madrid")


def test_lists_stop_counting(boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paging, "COUNTED", 60)
    conversation = ConversationFactory()
    for _ in range(70):
        MessageFactory(conversation=conversation)
    with CaptureQueriesContext(connection) as captured:
        body = boss.get(page(Message, "changelist")).content.decode()
    assert "60+ messages" in body.replace("\n", " ")
    counting = [
        query["sql"] for query in captured if "COUNT(" in query["sql"] and "crossmemory_message" in query["sql"]
    ]
    assert len(counting) == 1
    assert "LIMIT 61" in counting[0]


def test_nobody_sorts_a_big_table(boss: Client) -> None:
    make(UserFactory())
    with CaptureQueriesContext(connection) as captured:
        assert boss.get(page(Message, "changelist"), {"o": "5.1"}).status_code == 200
    assert not any("ORDER BY" in query["sql"] and '"role"' in query["sql"].split("ORDER BY")[-1] for query in captured)


@pytest.mark.parametrize("lookup", ["text__startswith", "text", "conversation__title__contains", "status"])
def test_lists_are_not_narrowed_by_words(lookup: str, boss: Client) -> None:
    response = boss.get(page(Message, "changelist"), {lookup: "x"})
    assert response.status_code in (302, 400)


def test_filters_narrow(boss: Client) -> None:
    conversation = make(UserFactory())[Conversation]
    make(UserFactory(), surface="telegram")
    for model, query in (
        (Conversation, {"surface": "web"}),
        (Message, {"conversation__id__exact": conversation.pk}),
        (Message, {"role": "assistant"}),
        (Run, {"status__exact": "failed"}),
    ):
        found = boss.get(page(model, "changelist"), query).context["cl"].result_list
        assert 0 < len(found) < model.objects.count()


def names(client: Client, model: type, term: Any) -> list[int]:
    return [row.pk for row in client.get(page(model, "changelist"), {"q": term}).context["cl"].result_list]


def test_search_by_key_public_id_and_person(boss: Client) -> None:
    ana, ben = UserFactory(username="ana"), UserFactory(username="ben")
    rows, others = make(ana), make(ben)
    conversation, message = rows[Conversation], rows[Message]
    assert names(boss, Conversation, conversation.pk) == [conversation.pk]
    assert names(boss, Conversation, conversation.uid) == [conversation.pk]
    assert set(names(boss, Message, "ana")) == set(Message.objects.filter(owner=ana).values_list("pk", flat=True))
    assert names(boss, Message, message.uid) == [message.pk]
    assert others[Conversation].pk in names(boss, Conversation, "ben")
    for nobody in ("xylophone", "an", "99999999999999999999999", "²", "-1"):
        assert names(boss, Message, nobody) == []
