"""Trimming drops events, and nothing that a replay of the rest would need."""

import json
from typing import Any

import pytest

from crossmemory import intake, log, turns
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Event, Owner
from crossmemory.testing.factories import AnsweredRunFactory

pytestmark = pytest.mark.django_db


def nothing_goes_out(run: Any, message: Any, text: str) -> None:
    """Stands for the outbox."""


def test_the_anchor_keeps_the_title_when_the_rename_goes(user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 10}
    actor = Actor("user", str(user.pk))
    conversation = log.create(Owner.of(user), "web", "Trip")
    log.rename(conversation, "First", actor)
    log.rename(conversation, "Ünïcödé", actor)
    for number in range(20):
        log.append_message(conversation, NewMessage("user", actor, f"m{number}"))
    log.trim(conversation.pk)
    events = list(Event.objects.filter(conversation=conversation.pk).order_by("seq"))
    assert "conversation.renamed" not in {event.type for event in events}
    assert json.loads(events[0].body)["data"]["title"] == "Ünïcödé"
    assert all(event.bytes == len(event.body.encode()) for event in events)
    row = Conversation.objects.get(pk=conversation.pk)
    assert row.kept_bytes == sum(event.bytes for event in events)


@pytest.mark.parametrize(("bound", "most"), [("LOG_MAX_EVENTS", 20), ("LOG_MAX_BYTES", 8_000)])
def test_what_is_kept_is_within_the_bounds_answers_and_runs_included(
    user: Any, settings: Any, bound: str, most: int
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, bound: most}
    conversation = log.create(Owner.of(user), "web", "Trip")
    for number in range(12):
        AnsweredRunFactory(conversation=conversation, question=f"m{number}", answer="An answer. " * 30)
    row = Conversation.objects.get(pk=conversation.pk)
    events = list(Event.objects.filter(conversation=conversation.pk).order_by("seq"))
    assert [event.seq for event in events] == [1, *range(row.floor, row.head + 1)]
    assert events[1].opens_turn
    assert row.trimmed_by == ("count" if bound == "LOG_MAX_EVENTS" else "bytes")
    assert len(events) <= 20 if bound == "LOG_MAX_EVENTS" else sum(event.bytes for event in events) <= most


def test_a_steer_that_is_answered_next_does_not_cut_the_turn_in_which_it_was_said(user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 5}
    person = Actor("user", str(user.pk))
    conversation = log.create(Owner.of(user), "web", "Trip")
    stored = intake.say(conversation, "one", author=person)
    assert stored.run_id is not None
    run = turns.claim(stored.run_id, "w", nothing_goes_out)
    assert run is not None
    answer = turns.begin_answer(run, {}, "so far")
    intake.say(conversation, "two", author=person)  # a steer, which nobody takes
    turns.stop(run, answer, person, nothing_goes_out)
    intake.say(conversation, "three", author=person)
    log.trim(conversation.pk)
    kept = list(Event.objects.filter(conversation=conversation.pk).order_by("seq").values_list("seq", "type"))
    assert kept[1] == (2, "message.completed")
    assert [seq for seq, _ in kept] == list(range(1, kept[-1][0] + 1))
    assert Conversation.objects.get(pk=conversation.pk).floor == 2
