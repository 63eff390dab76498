"""How the database finds what memory reads: by one person's own index, however much others have said since.

Not a measurement: on a table with statistics, the plan is the promise.
"""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory import log, memory
from crossmemory.models import Conversation, Message, Owner
from crossmemory.models.guard import log_writes
from tests.memory.places import web

pytestmark = pytest.mark.django_db


@pytest.fixture
def crowd(user: Any, other: Any) -> Conversation:
    """A person whose messages are the oldest of a table in which somebody else has said much since."""
    for person, count in ((user, 2_000), (other, 6_000)):
        place = log.create(Owner.of(person), "telegram", "long")
        rows = [
            Message(
                conversation=place,
                owner=person,
                seq=seq,
                turn=seq,
                role="user",
                author_kind="user",
                text="x" * 50,
                shared=seq % 2 == 0,
            )
            for seq in range(2, count)
        ]
        with log_writes():
            Message.objects.bulk_create(rows)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return web(user)


def plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if connection.vendor == 'sqlite' else ''}{sql}")
        return "\n".join(str(row) for row in cursor.fetchall())


@pytest.mark.parametrize("left_out", [False, True])
def test_the_newest_of_one_person_are_read_from_their_index(user: Any, crowd: Conversation, left_out: bool) -> None:
    phone = memory.get_singleton(user, "telegram")
    if left_out:
        memory.leave_out(phone, "surfaces", "whatsapp")
    found: dict[str, list[str]] = {name: [] for name in ("newest", "apart")}
    with CaptureQueriesContext(connection) as seen:
        memory.load_cross_context(user)
        memory.build_context(phone)
    for each in seen:
        if '"crossmemory_message"' not in each["sql"] or "owner_id" not in each["sql"]:
            continue
        told = plan(each["sql"])
        for name in found:
            found[name] += [told] if f"crossmemory_message_{name}" in told else []
        assert "crossmemory_message_newest" in told or "crossmemory_message_apart" in told, told
        assert "Backward using crossmemory_message_pkey" not in told, told
    assert len(found["newest"]) >= 2
    assert len(found["apart"]) == 1
