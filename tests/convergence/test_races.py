"""What one thread cannot show: several do something to one conversation in the same moment. `RACES=300` runs more."""

import os
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import connection

from crossmemory import erase, intake, log, turns
from crossmemory.exceptions import Conflict, Fenced
from crossmemory.models import Conversation, Event, Message, ToolCall
from tests.convergence.world import World

pytestmark = pytest.mark.django_db(transaction=True)

RACES = int(os.environ.get("RACES", "5"))


def together(*acts: Callable[[], Any]) -> list[Any]:
    """Do them in the same moment, each in a thread with a connection of its own; what they return, or refuse with."""
    start = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)

    def run(place: int, act: Callable[[], Any]) -> None:
        try:
            start.wait(10)
            results[place] = act()
        except BaseException as error:
            results[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place, act)) for place, act in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for each in results:
        if isinstance(each, BaseException) and not isinstance(each, Fenced | Conflict | turns.AlreadyDecided):
            raise each
    return results


def sends(world: World, client_id: str, text: str = "and one thing more") -> Callable[[], Any]:
    """A device sends a message."""
    conversation = Conversation.objects.get(pk=world.pk)
    return lambda: intake.say(conversation, text, author=world.person, client_id=client_id)


ENDINGS: dict[str, list[str]] = {
    "completes": ["complete"],
    "fails": ["fail"],
    "is stopped": ["stop", "obey"],
    "is taken over": ["die", "claim"],
    "asks": ["ask"],
    "listens, then completes": ["listen", "complete"],
}


@pytest.mark.parametrize("how", ENDINGS)
@pytest.mark.parametrize("shown", [True, False], ids=["shown", "unshown"])
def test_what_is_said_as_a_run_ends_is_answered_once(user: Any, how: str, shown: bool) -> None:
    for number in range(RACES):
        world = World(user)
        world.say(0)
        world.claim(0)
        if shown:
            world.write(4)

        def end(world: World = world) -> None:
            for step in ENDINGS[how]:
                getattr(world, step)(1)

        said = {f"{number}-{each}" for each in range(3)}
        together(end, *(sends(world, each) for each in sorted(said)))
        world.finish()
        world.check(said)
        answered = Message.objects.filter(conversation=world.pk, role="assistant").exclude(status="writing")
        last = Message.objects.filter(conversation=world.pk, role="user").order_by("-seq").values_list("seq", flat=True)
        assert answered.filter(seq__gt=last[0]).exists() or how == "listens, then completes"


@pytest.mark.parametrize("others", [["expire"], ["stop"], ["expire", "stop"], []], ids="+".join)
def test_one_of_all_decisions_counts(user: Any, others: list[str]) -> None:
    for _ in range(RACES):
        world = World(user)
        world.say(0)
        world.claim(0)
        world.ask(1)
        [*calls] = ToolCall.objects.filter(conversation=world.pk).order_by("pk")

        def decide(call: ToolCall, decision: Any, world: World = world) -> Callable[[], Any]:
            conversation = Conversation.objects.get(pk=world.pk)
            return lambda: intake.decide(conversation, call.uid, decision, call.args_hash, by=world.person, where="web")

        choices = ("approved", "denied", "approved")
        decided = together(
            *(decide(calls[0], decision) for decision in choices),
            *(partial(getattr(world, name), 0) for name in others),
        )
        took = [choice for choice, result in zip(choices, decided, strict=False) if result is None]
        calls[0].refresh_from_db()
        events = Event.objects.filter(conversation=world.pk, type="approval.decided", body__contains=str(calls[0].uid))
        assert events.count() == 1
        assert took == ([calls[0].status] if calls[0].status in choices else [])
        assert took or others
        for result in decided[: len(choices)]:
            if result is not None:
                assert result.facts["decision"] == calls[0].status
        world.finish()
        world.check(set())


def test_one_event_for_each_client_id(user: Any) -> None:
    for number in range(RACES):
        world = World(user)
        stored = together(
            *(sends(world, "same") for _ in range(3)), sends(world, "same", "something else"), sends(world, "another")
        )
        *same, other, _ = stored
        refused = [each for each in (*same, other) if isinstance(each, Conflict)]
        kept = [each for each in (*same, other) if not isinstance(each, Conflict)]
        assert len(refused) in (1, 3), number
        assert len({each.seq for each in kept}) == 1
        assert sorted(each.duplicate for each in kept) == [False, *[True] * (len(kept) - 1)]
        world.finish()
        world.check({"same", "another"})


def test_history_that_is_rewritten_while_people_write(user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 20}
    for number in range(RACES):
        world = World(user)
        for each in range(4):
            world.turn(each)
        message = Message.objects.filter(conversation=world.pk, role="user").order_by("seq")[3]
        said = {f"{number}-{each}" for each in range(2)}
        together(
            lambda world=world: world.turn(1),
            lambda world=world: log.trim(world.pk),
            lambda message=message, world=world: erase.message(message, world.person),
            lambda world=world: world.rename(1),
            *(sends(world, each) for each in sorted(said)),
        )
        world.finish()
        world.check(said)
