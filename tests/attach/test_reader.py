"""What an attach reads says what the log says."""

from typing import Any

import pytest

from crossmemory import intake, log, turns
from crossmemory.attach import reader
from crossmemory.events import Actor
from crossmemory.models import Owner

pytestmark = pytest.mark.django_db


def nothing_goes_out(run: Any, message: Any, text: str) -> None:
    """Stands for the outbox."""


def test_a_run_whose_requests_are_all_decided_does_not_wait_for_approval(user: Any) -> None:
    person = Actor("user", str(user.pk))
    conversation = log.create(Owner.of(user), "web", "Trip")

    def run_state() -> str:
        found = reader.snapshot(conversation.pk)
        assert found is not None
        return found.run

    stored = intake.say(conversation, "Ring the bell", author=person)
    assert stored.run_id is not None
    run = turns.claim(stored.run_id, "w", nothing_goes_out)
    assert run is not None
    requests = [turns.Request("bell", {"times": times}) for times in (1, 2)]
    first, second = turns.await_approval(run, None, "", requests, None, saw={}, outgoing=nothing_goes_out)
    assert run_state() == "awaiting_approval"
    turns.decide(conversation, first.uid, "approved", first.args_hash, person, "web")
    assert run_state() == "awaiting_approval"
    turns.decide(conversation, second.uid, "denied", second.args_hash, person, "web")
    assert run_state() == "running"  # as a client that folds approval.decided has it
