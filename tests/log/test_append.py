"""The log has one writer, and its seqs are gapless and in commit order."""

import json
import threading
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from crossmemory import log
from crossmemory.events import Actor, encode
from crossmemory.exceptions import AppendOnly, Conflict, EmptyText, NotFound, TextTooLong
from crossmemory.log import NewMessage, QueueRun, statement
from crossmemory.log.columns import insert
from crossmemory.log.writer import _append_message
from crossmemory.models import Conversation, Event, Message, Owner, Run

pytestmark = pytest.mark.django_db(transaction=True)


def person(user: Any, text: str, client_id: str | None = None) -> NewMessage:
    return NewMessage("user", Actor("user", str(user.pk)), text, client_id=client_id)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def events(conversation: Conversation) -> list[tuple[int, str]]:
    return list(Event.objects.filter(conversation=conversation).order_by("seq").values_list("seq", "type"))


def check_counters(conversation: Conversation) -> None:
    conversation.refresh_from_db()
    rows = list(Event.objects.filter(conversation=conversation).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, conversation.head + 1))
    assert conversation.kept_events == len(rows)
    assert conversation.kept_bytes == sum(row.bytes for row in rows)
    for row in rows:
        assert row.bytes == len(row.body.encode())
        assert json.loads(row.body)["type"] == row.type


def test_a_message_its_event_and_its_run_stand_together(conversation: Conversation, user: Any) -> None:
    stored = log.append_message(conversation, person(user, "hello", "c1"), QueueRun("default"))
    assert (stored.seq, stored.turn, stored.duplicate) == (2, 2, False)
    assert events(conversation) == [(1, "conversation.created"), (2, "message.completed"), (3, "run.queued")]
    message = Message.objects.get()
    assert (message.pk, message.uid, message.text, message.owner_id) == (stored.id, stored.uid, "hello", user.pk)
    run = Run.objects.get()
    assert (run.pk, run.trigger, run.status) == (stored.run_id, 2, "queued")
    queued = json.loads(Event.objects.get(seq=3).body)
    assert queued["data"] == {"trigger": 2}
    assert queued["run"] == str(run.uid)
    check_counters(conversation)


def test_a_second_message_joins_the_queued_run(conversation: Conversation, user: Any) -> None:
    first = log.append_message(conversation, person(user, "one"), QueueRun("default"))
    second = log.append_message(conversation, person(user, "two"), QueueRun("default"))
    assert (second.seq, second.turn, second.run_id) == (4, first.seq, None)
    assert Run.objects.count() == 1
    check_counters(conversation)


def test_a_repeated_client_id_is_the_same_message(conversation: Conversation, user: Any) -> None:
    first = log.append_message(conversation, person(user, "yes", "c1"), QueueRun("default"))
    again = log.append_message(conversation, person(user, "yes", "c1"), QueueRun("default"))
    assert (again.seq, again.uid, again.duplicate) == (first.seq, first.uid, True)
    with pytest.raises(Conflict):
        log.append_message(conversation, person(user, "no", "c1"))
    assert Message.objects.count() == 1
    check_counters(conversation)


def test_a_duplicate_leaves_the_callers_transaction_usable(conversation: Conversation, user: Any) -> None:
    log.append_message(conversation, person(user, "yes", "c1"))
    with transaction.atomic():
        assert log.append_message(conversation, person(user, "yes", "c1")).duplicate
        log.append_message(conversation, person(user, "more", "c2"))
    assert Message.objects.count() == 2
    check_counters(conversation)


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d", "\ud83d\ude00 pair"])
def test_what_databases_refuse_is_cleaned(conversation: Conversation, user: Any, text: str) -> None:
    log.append_message(conversation, person(user, text, "id\x00"))
    stored = Message.objects.get()
    stored.text.encode()
    assert "\x00" not in stored.text
    assert "😀" in stored.text or "\N{REPLACEMENT CHARACTER}" in stored.text


def test_bad_text_is_refused_and_nothing_is_stored(conversation: Conversation, user: Any) -> None:
    with pytest.raises(EmptyText):
        log.append_message(conversation, person(user, " \n"))
    with pytest.raises(TextTooLong):
        log.append_message(conversation, person(user, "é" * 40_000))
    assert events(conversation) == [(1, "conversation.created")]


def test_a_conversation_that_is_gone_takes_nothing(conversation: Conversation, user: Any) -> None:
    gone = Conversation(pk=conversation.pk + 1000, surface="web")
    with pytest.raises(NotFound):
        log.append_message(gone, person(user, "hello"), QueueRun("default"))
    assert Message.objects.count() == 0


def test_rows_of_the_log_are_written_by_the_log_alone(conversation: Conversation, user: Any) -> None:
    log.append_message(conversation, person(user, "hello"))
    event, message = Event.objects.first(), Message.objects.first()
    assert event is not None
    assert message is not None
    for write in (
        event.save,
        event.delete,
        message.save,
        message.delete,
        lambda: Event.objects.update(type="x"),
        lambda: Event.objects.all().delete(),
        lambda: Message.objects.update(text="x"),
        lambda: Message.objects.create(conversation=conversation, owner=user, seq=9, turn=9),
        lambda: Event.objects.bulk_create([Event(conversation=conversation, seq=9, body="", bytes=0)]),
    ):
        with pytest.raises(AppendOnly):
            write()


def test_writers_that_race_get_gapless_seqs(conversation: Conversation, user: Any) -> None:
    barrier = threading.Barrier(6)
    failures: list[BaseException] = []

    def write(name: int) -> None:
        try:
            barrier.wait()
            for index in range(10):
                # every second message twice, as retries do
                for _ in range(1 + index % 2):
                    log.append_message(
                        conversation, person(user, f"{name} {index}", f"{name}-{index}"), QueueRun("default")
                    )
        except BaseException as error:
            failures.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=write, args=(name,)) for name in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert Message.objects.count() == 60
    assert Run.objects.count() == 1
    check_counters(conversation)
    assert list(Message.objects.order_by("pk").values_list("pk")) == list(
        Message.objects.order_by("seq").values_list("pk")
    )


def test_racing_for_a_singleton_ends_as_one_row(user: Any) -> None:
    barrier = threading.Barrier(6)
    keys = []

    def make() -> None:
        barrier.wait()
        keys.append(log.get_or_create_singleton(Owner.of(user), "telegram", "[Telegram]").pk)
        connections.close_all()

    threads = [threading.Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 6
    assert len(set(keys)) == 1


@pytest.mark.skipif(connection.vendor != "postgresql", reason="the one statement is PostgreSQL's")
@pytest.mark.parametrize("queue", [True, False])
def test_the_one_statement_writes_what_the_portable_way_writes(user: Any, queue: bool) -> None:
    rows, at = [], timezone.now()
    for write in (statement.append_message, _append_message):
        conversation = log.create(Owner.of(user), "web", "Same")
        for text in ("one", "two"):
            message = person(user, text, text).cleaned()
            body = encode(message.event(), at=at, actor=message.author, surface="web")
            with transaction.atomic():
                write(
                    connection, conversation, message, body, QueueRun("default", {"chat": "1"}) if queue else None, at
                )
        check_counters(conversation)
        own = {"id", "uid", "conversation_id", "run_id", "message_id", "body", "bytes"}
        rows.append(
            [
                [
                    {key: value for key, value in row.items() if key not in own}
                    for row in model.objects.filter(conversation=conversation)
                    .order_by("seq" if model is Event else "pk")
                    .values()
                    if row.get("seq") != 1  # the anchor has its own time
                ]
                for model in (Message, Run, Event)
            ]
        )
    assert rows[0] == rows[1]


def test_every_column_is_named_in_the_statement() -> None:
    for model, sources in (
        (Message, statement.MESSAGE),
        (Event, statement.MESSAGE_EVENT),
        (Run, statement.RUN),
        (Event, statement.RUN_EVENT),
    ):
        assert insert(model, sources, connection).fields
        with pytest.raises(ValueError, match="columns and sources differ"):
            insert(
                model,
                {name: source for name, source in sources.items() if name not in ("text", "type", "uid")},
                connection,
            )
