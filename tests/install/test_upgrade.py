"""A site that goes from the first release to this one, with what its people have said, and back."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from crossmemory import memory
from crossmemory.models import Conversation, Message

pytestmark = pytest.mark.django_db(transaction=True)

FIRST = "0001_initial"


@pytest.fixture
def first_release() -> Iterator[Any]:
    """The models as they were; afterwards the database is today's again, whatever happened."""
    try:
        call_command("migrate", "crossmemory", FIRST, verbosity=0)
        executor = MigrationExecutor(connection)
        nodes = [node for node in executor.loader.graph.leaf_nodes() if node[0] != "crossmemory"]
        yield executor.loader.project_state([*nodes, ("crossmemory", FIRST)]).apps
    finally:
        call_command("migrate", verbosity=0)


def test_what_was_said_is_remembered_and_found_after_an_upgrade(first_release: Any, user: Any) -> None:
    old = {"user_id": user.pk, "agent": "default"}
    conversations = first_release.get_model("crossmemory", "Conversation").objects
    messages = first_release.get_model("crossmemory", "Message").objects
    phone = conversations.create(surface="telegram", singleton=True, title="[Telegram]", **old)
    group = conversations.create(surface="telegram", singleton=False, shared=False, reads=False, title="A group", **old)
    for place, text in ((phone, "The ñandú is called Lola."), (group, "Said among others.")):
        messages.create(
            conversation_id=place.pk, owner_id=user.pk, agent="default", seq=1, turn=1, role="user", text=text,
            status="complete", shared=place.shared,
        )  # fmt: skip
    call_command("migrate", verbosity=0)
    assert [message.text for message in memory.load_cross_context(user)] == ["The ñandú is called Lola."]
    assert [found.message.text for found in memory.search(user, "nandu")] == ["The ñandú is called Lola."]
    assert Conversation.objects.get(pk=group.pk).group_chat
    call_command("migrate", "crossmemory", FIRST, verbosity=0)
    assert messages.count() == 2
    call_command("migrate", verbosity=0)
    assert Message.objects.count() == 2
