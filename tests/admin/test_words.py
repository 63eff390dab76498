"""Words need a permission; without it they are not even read."""

import re
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory.models import Conversation, Run
from crossmemory.testing.factories import UserFactory
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import MODELS, WORD, make, page

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("model", MODELS)
def test_staff_without_the_permission_see_no_words(model: type, helper: Any) -> None:
    row = make(UserFactory())[model]
    client = signed_in(helper)
    urls = [page(model, "changelist"), page(model, "change", row.pk)]
    if model is Conversation:
        urls.append(urls[-1] + "?places=all")
    for url in urls:
        with CaptureQueriesContext(connection) as captured:
            response = client.get(url)
        assert response.status_code == 200
        assert WORD not in response.content.decode()
        for query in captured:
            read = re.findall(r'"crossmemory_\w+"\."(?:text|parts|body|raw|payload|title)"', query["sql"])
            assert not read, query["sql"]


def test_the_kind_of_an_error_is_no_secret(helper: Any) -> None:
    run = make(UserFactory())[Run]
    body = signed_in(helper).get(page(Run, "change", run.pk)).content.decode()
    assert "ValueError" in body


@pytest.mark.parametrize("model", MODELS)
def test_with_the_permission_they_do(model: type, helper: Any) -> None:
    row = make(UserFactory())[model]
    helper.user_permissions.add(*permissions("read_text"))
    body = signed_in(helper).get(page(model, "change", row.pk)).content.decode()
    wordless = {"DailyUse", "Pause", "SurfaceLink", "LinkCode", "Preference", "Poller"}
    assert (WORD in body) == (model.__name__ not in wordless)


def test_staff_who_delete_without_reading_see_no_title(helper: Any) -> None:
    conversation = make(UserFactory())[Conversation]
    helper.user_permissions.add(*permissions("delete_conversation"))
    client = signed_in(helper)
    assert WORD not in client.get(page(Conversation, "changelist")).content.decode()
    assert WORD not in client.get(page(Conversation, "delete", conversation.pk)).content.decode()
    data = {"action": "delete_selected", "_selected_action": [conversation.pk]}
    assert WORD not in client.post(page(Conversation, "changelist"), data).content.decode()
    gone = client.post(page(Conversation, "delete", conversation.pk), {"post": "yes"}, follow=True)
    assert WORD not in gone.content.decode()
    assert not Conversation.objects.filter(pk=conversation.pk).exists()


def test_the_admins_own_log_keeps_no_title(boss: Any) -> None:
    conversation = make(UserFactory())[Conversation]
    boss.post(page(Conversation, "delete", conversation.pk), {"post": "yes"})
    assert LogEntry.objects.get().object_repr == f"#{conversation.pk}"
