"""Whoever is signed out, deactivated or loses access changes nothing any more, and is closed within one ping."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import OperationalError
from rest_framework.authtoken.models import Token

from crossmemory import db, intake, log, turns
from crossmemory.attach import authentication, consumer
from crossmemory.events import Actor
from crossmemory.models import Conversation, Event, Owner, Run
from tests.support.attached import Client, attach

pytestmark = pytest.mark.django_db(transaction=True)

HOURS = 3600.0


def tenant(user: Any) -> str:
    """The site's idea of a tenant here: the person's last name."""
    return str(user.last_name)


def allowed(user: Any) -> bool:
    """Who may use the agent here."""
    return bool(user.first_name != "banned")


@pytest.fixture
def conversation(user: Any, settings: Any) -> Conversation:
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "TENANT": "tests.attach.test_losing_access.tenant",
        "AGENTS": {"default": {**settings.CROSSMEMORY["AGENTS"]["default"], "ALLOWED": f"{__name__}.allowed"}},
        "PING_SECONDS": HOURS,
    }
    return log.create(Owner.of(user), "web", "Trip")


def sign_out(user: Any, conversation: Conversation) -> None:
    Session.objects.all().delete()


def deactivate(user: Any, conversation: Conversation) -> None:
    type(user).objects.update(is_active=False)


def change_the_password(user: Any, conversation: Conversation) -> None:
    user.set_password("another")
    user.save()


def take_the_token(user: Any, conversation: Conversation) -> None:
    Token.objects.all().delete()


def move_to_another_tenant(user: Any, conversation: Conversation) -> None:
    type(user).objects.update(last_name="elsewhere")


def give_it_away(user: Any, conversation: Conversation) -> None:
    stranger = type(user).objects.create_user("eve")
    Conversation.objects.update(user=stranger)


def lose_the_agent(user: Any, conversation: Conversation) -> None:
    type(user).objects.update(first_name="banned")


LOSSES = [
    lose_the_agent,
    sign_out,
    deactivate,
    change_the_password,
    take_the_token,
    move_to_another_tenant,
    give_it_away,
]
COMMANDS = ["message.send", "run.stop", "read", "approval.decide"]
Loss = Callable[[Any, Conversation], None]


@asynccontextmanager
async def attached(user: Any, conversation: Conversation, loss: Loss) -> AsyncIterator[tuple[Client, Any]]:
    """Somebody who is attached while a tool call waits: by session, or by token where that is what they will lose."""

    def ask() -> Any:
        stored = intake.say(conversation, "Ring the bell", author=Actor("user", str(user.pk)))
        run = turns.claim(stored.run_id or 0, "w", lambda run, message, text: None)
        assert run is not None
        requests = [turns.Request("bell")]
        [call] = turns.await_approval(run, None, "", requests, None, saw={}, outgoing=lambda run, message, text: None)
        return call

    call = await db.run(ask)
    headers = None
    if loss is take_the_token:
        token = await db.run(Token.objects.create, user=user)
        headers = [(b"authorization", f"Token {token.key}".encode())]
    async with attach(user, conversation, headers=headers) as client:
        await client.replay()
        yield client, call


def command(kind: str, call: Any) -> dict[str, Any]:
    more: dict[str, dict[str, Any]] = {
        "message.send": {"client_id": "c1", "text": "from the other side"},
        "run.stop": {},
        "read": {"seq": 3},
        "approval.decide": {"tool_call": str(call.uid), "decision": "approved", "args_hash": call.args_hash},
    }
    return {"type": kind, **more[kind]}


def everything() -> list[Any]:
    """What a command could change."""
    rows: list[Any] = list(Event.objects.order_by("seq").values_list("seq", "body"))
    rows += Run.objects.order_by("pk").values_list("status", "ready", "stop_requested")
    rows += Conversation.objects.values_list("head", "read_seq")
    return rows


@pytest.mark.parametrize("kind", COMMANDS)
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_command_of_somebody_who_lost_the_right_changes_nothing(
    user: Any, conversation: Conversation, kind: str, loss: Loss, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "RECHECK_SECONDS": 0}
    async with attached(user, conversation, loss) as (client, call):
        await db.run(loss, user, conversation)
        before = await db.run(everything)
        await client.send_json_to(command(kind, call))
        assert await client.close_code() in (4501, 4504)
        assert await db.run(everything) == before


@pytest.mark.parametrize("kind", COMMANDS)
async def test_the_same_commands_work_for_whom_they_are_meant(
    user: Any, conversation: Conversation, kind: str, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "RECHECK_SECONDS": 0}
    async with attached(user, conversation, sign_out) as (client, call):
        before = await db.run(everything)
        await client.send_json_to(command(kind, call))
        await client.send_json_to({"type": "ping", "n": 1})
        while (await client.frame())["type"] != "pong":
            pass
        assert await db.run(everything) != before


@pytest.mark.parametrize("loss", LOSSES)
async def test_it_is_closed_within_one_ping(user: Any, conversation: Conversation, loss: Loss, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PING_SECONDS": 0.1}
    async with attached(user, conversation, loss) as (client, _):
        await db.run(loss, user, conversation)
        assert await client.close_code() in (4501, 4504)


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Each time somebody's sign-in is looked up."""
    seen: list[Any] = []
    look = authentication.authenticate

    def counted(scope: Any) -> Any:
        seen.append(scope["path"])
        return look(scope)

    monkeypatch.setattr(consumer, "aauthenticate", db.twin(counted))
    return seen


async def test_quick_commands_are_carried_out_on_one_look_and_later_ones_on_another(
    user: Any, conversation: Conversation, looks: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    late = 0.0
    real = consumer.time.monotonic
    monkeypatch.setattr(consumer.time, "monotonic", lambda: real() + late)
    async with attach(user, conversation) as client:
        await client.replay()
        for number in range(20):
            late = 0.0 if number < 15 else 4.0
            await client.send_json_to({"type": "message.send", "client_id": f"c{number}", "text": "quick"})
            while (await client.frame())["type"] != "ack":
                pass
    assert len(looks) == 2


async def test_a_decision_always_takes_a_look(user: Any, conversation: Conversation, looks: list[Any]) -> None:
    async with attached(user, conversation, sign_out) as (client, call):
        for _ in range(2):
            await client.send_json_to(command("approval.decide", call))
            while (await client.frame())["type"] not in ("ack", "nack"):
                pass
    assert len(looks) == 3


async def test_while_nobody_can_be_told_apart_nothing_is_carried_out_and_nobody_is_closed(
    user: Any, conversation: Conversation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "RECHECK_SECONDS": 0}

    async def away(scope: Any) -> Any:
        raise OperationalError("the database is away")

    async with attached(user, conversation, sign_out) as (client, call):
        before = await db.run(everything)
        with monkeypatch.context() as patch:
            patch.setattr(consumer, "aauthenticate", away)
            answers = []
            for kind in COMMANDS:
                await client.send_json_to(command(kind, call))
                answers.append(await client.frame())
        assert await db.run(everything) == before
        nack, *errors = answers
        assert (nack["type"], nack["code"], nack["retryable"]) == ("nack", "unavailable", True)
        assert [(error["type"], error["code"]) for error in errors] == [("error", "unavailable")] * 3
        await client.send_json_to(command("message.send", call))
        while (frame := await client.frame())["type"] != "ack":
            pass
        assert frame["duplicate"] is False
