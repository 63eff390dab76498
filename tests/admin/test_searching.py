"""Staff find a person's messages by their words, if they may read them."""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from crossmemory import memory
from crossmemory.models import Message
from crossmemory.testing.factories import UserFactory
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import page

pytestmark = pytest.mark.django_db


def rows(client: Client, term: str) -> set[str]:
    response = client.get(page(Message, "changelist"), {"q": term})
    assert response.status_code == 200
    return {row.uid for row in response.context["cl"].result_list}


def test_words_of_one_person(boss: Client) -> None:
    ana, ben = UserFactory(username="ana"), UserFactory(username="ben")
    stored = memory.record(ana, "telegram", "user", "where is the xylophone?")
    memory.record(ben, "telegram", "user", "my xylophone")
    assert rows(boss, "ana: xylophones") == {stored.uid}
    assert rows(boss, "ana:xilophone") == {stored.uid}
    assert rows(boss, "carla: xylophone") == rows(boss, "ana: piano") == rows(boss, ": xylophone") == set()
    assert len(rows(boss, "ana")) == 1


def test_without_the_permission_no_word_is_looked_for(helper: Any) -> None:
    memory.record(UserFactory(username="ana"), "telegram", "user", "where is the xylophone?")
    client = signed_in(helper)
    with CaptureQueriesContext(connection) as captured:
        assert rows(client, "ana: xylophone") == set()
    assert not any("crossmemory_search" in query["sql"] for query in captured)
    assert "name: words" not in client.get(page(Message, "changelist")).content.decode()
    helper.user_permissions.add(*permissions("read_text"))
    client = signed_in(helper)
    assert len(rows(client, "ana: xylophone")) == 1
    assert "name: words" in client.get(page(Message, "changelist")).content.decode()
