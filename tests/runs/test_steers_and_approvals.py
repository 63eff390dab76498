"""What is said during a run is taken, answered next or expired, once; approvals are decided once, anywhere."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from crossmemory import db, erase, intake, log, turns
from crossmemory.agents import NeedsApproval, Request, ToolDone, ToolUse
from crossmemory.attach import reader
from crossmemory.events import Actor
from crossmemory.exceptions import NotFound, Refused
from crossmemory.memory import Context
from crossmemory.models import Conversation, Event, Message, Owner, Run, ToolCall
from crossmemory.runs import engine
from tests.support.runner import ScriptedAgent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def me(conversation: Conversation) -> Actor:
    return Actor("user", str(conversation.user_id))


def say(conversation: Conversation, text: str, client_id: str | None = None) -> Any:
    return intake.say(conversation, text, author=me(conversation), client_id=client_id)


def events(conversation: Conversation, *kinds: str) -> list[str]:
    found = Event.objects.filter(conversation=conversation, seq__gt=1).order_by("seq")
    return list((found.filter(type__startswith=kinds[0]) if kinds else found).values_list("type", flat=True))


def answers(conversation: Conversation) -> list[str]:
    found = Message.objects.filter(conversation=conversation, role="assistant", status="complete").order_by("seq")
    return list(found.values_list("text", flat=True))


def check_counters(conversation: Conversation) -> None:
    conversation.refresh_from_db()
    rows = list(Event.objects.filter(conversation=conversation).order_by("seq"))
    assert [row.seq for row in rows] == list(range(1, conversation.head + 1))
    assert conversation.kept_events == len(rows)
    assert conversation.kept_bytes == sum(row.bytes for row in rows)


async def test_an_agent_takes_steers_between_steps(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    async def steps(context: Context) -> AsyncIterator[str]:
        yield "first step. "
        await db.run(say, conversation, "and in red")
        yield f"taken: {await context.take_steers()}; then {await context.take_steers()}"

    script.script = steps
    await db.run(say, conversation, "paint the boat")
    assert await engine.run_waiting("w") == 1
    assert await db.run(answers, conversation) == ["first step. taken: ['and in red']; then []"]
    assert await db.run(events, conversation, "steer") == ["steer.accepted", "steer.consumed"]
    await db.run(check_counters, conversation)
    assert (await db.run(Message.objects.get, text="and in red")).turn == 2


async def test_a_database_that_is_away_costs_no_answer_and_no_steer(
    conversation: Conversation, script: type[ScriptedAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, away = turns.atake_steers, [False]

    async def take(run: Run, among: Any = None) -> Any:
        if away[0]:
            raise OperationalError("gone")
        return await real(run, among)

    async def steps(context: Context) -> AsyncIterator[str]:
        if len(script.contexts) > 1:
            yield f"re: {context.question}"
            return
        yield "first step. "
        await db.run(say, conversation, "and in red")
        away[0] = True
        yield f"taken: {await context.take_steers()}"
        away[0] = False

    monkeypatch.setattr(turns, "atake_steers", take)
    script.script = steps
    await db.run(say, conversation, "paint the boat")
    assert await engine.run_waiting("w") == 2
    assert await db.run(answers, conversation) == ["first step. taken: []", "re: and in red"]
    await db.run(check_counters, conversation)


@pytest.mark.parametrize("end", ["complete", "fail", "stop", "abandon"])
async def test_what_was_not_taken_is_answered_next_however_the_run_ends(
    conversation: Conversation, script: type[ScriptedAgent], end: str
) -> None:
    async def first(context: Context) -> AsyncIterator[str]:
        if len(script.contexts) > 1:
            yield f"re: {context.question}"
            return
        yield "one "
        await db.run(say, conversation, "two")
        await db.run(say, conversation, "three")
        if end == "fail":
            raise ValueError
        if end == "stop":
            await turns.arequest_stop(conversation, me(conversation))
            await asyncio.sleep(30)

    script.script = first
    await db.run(say, conversation, "one?")
    if end == "abandon":
        [run] = await engine.claim_waiting("dead", 1)
        await turns.abegin_answer(run, {}, "one ")
        await db.run(say, conversation, "two")
        await db.run(say, conversation, "three")
        past = timezone.now() - timedelta(minutes=1)
        await db.run(lambda: Run.objects.filter(pk=run.pk).update(lease_until=past))
        script.contexts.append(Context([]))
    await engine.run_waiting("w")
    await engine.run_waiting("w")
    assert (await db.run(answers, conversation))[-1] == "re: two\nthree"
    assert await db.run(events, conversation, "steer") == ["steer.accepted"] * 2 + ["steer.promoted"] * 2
    await db.run(check_counters, conversation)


async def test_steers_racing_with_the_end_are_never_lost_and_never_doubled(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    asked: list[str] = []

    async def quick(context: Context) -> AsyncIterator[str]:
        asked.extend(context.question.split("\n"))
        yield "ok"
        asked.extend(await context.take_steers())

    script.script = quick

    async def talk(name: int) -> None:
        for index in range(8):
            await db.run(say, conversation, f"{name}-{index}", f"{name}-{index}")

    async def work(name: str) -> None:
        for _ in range(40):
            await engine.run_waiting(name)
            await asyncio.sleep(0.005)

    await asyncio.gather(talk(1), talk(2), talk(3), work("a"), work("b"))
    while await engine.run_waiting("w"):
        pass
    expected = sorted(f"{name}-{index}" for name in (1, 2, 3) for index in range(8))
    assert sorted(asked) == expected
    assert not await db.run(Message.objects.filter(steer="accepted").exists)
    await db.run(check_counters, conversation)


async def test_a_deleted_steer_expires(conversation: Conversation) -> None:
    await db.run(say, conversation, "one")
    [run] = await engine.claim_waiting("w", 1)
    await db.run(say, conversation, "never mind")
    message = await db.run(Message.objects.select_related("conversation").get, text="never mind")
    await db.run(erase.message, message, me(conversation))
    assert await db.run(events, conversation, "steer") == ["steer.accepted", "steer.expired"]
    assert await turns.atake_steers(run) == []


def bell(context: Context) -> AsyncIterator[Any]:
    """Asks before it rings, and tells what came of it."""

    async def script() -> AsyncIterator[Any]:
        if not context.decisions:
            yield "I would ring the bell."
            yield NeedsApproval([Request("ring_bell", {"times": 3}, title="Ring the bell?")], state={"step": 1})
            return
        [decided] = context.decisions
        assert context.state == {"step": 1}
        if decided.approved:
            yield ToolDone(decided.id, {"rung": 3})
        yield "Rung." if decided.approved else "Then not."

    return script()


async def asked(conversation: Conversation) -> dict[str, Any]:
    await db.run(say, conversation, "ring the bell")
    assert await engine.run_waiting("w") == 1
    snapshot = await db.run(reader.snapshot, conversation.pk)
    assert snapshot is not None
    assert snapshot.run == "awaiting_approval"
    [pending] = snapshot.pending
    return dict(pending)


@pytest.mark.parametrize("decision", ["approved", "denied"])
async def test_a_tool_waits_for_the_person_and_goes_on(
    conversation: Conversation, script: type[ScriptedAgent], decision: Any
) -> None:
    script.script = bell
    pending = await asked(conversation)
    assert (pending["name"], pending["title"], pending["arguments"]) == ("ring_bell", "Ring the bell?", {"times": 3})
    assert await engine.run_waiting("another process") == 0
    await intake.adecide(
        conversation, pending["tool_call"], decision, pending["args_hash"], by=me(conversation), where="web"
    )
    assert await engine.run_waiting("another process") == 1
    rung = decision == "approved"
    assert await db.run(answers, conversation) == ["I would ring the bell.", "Rung." if rung else "Then not."]
    kinds = ["approval.requested", "approval.decided"]
    assert await db.run(events, conversation, "approval") == kinds
    assert await db.run(events, conversation, "tool") == (["tool.completed"] if rung else [])
    call = await db.run(ToolCall.objects.get)
    assert (call.status, call.decided_where) == ("completed" if rung else "denied", "web")
    await db.run(check_counters, conversation)
    snapshot = await db.run(reader.snapshot, conversation.pk)
    assert snapshot is not None
    assert (snapshot.run, list(snapshot.pending)) == ("idle", [])


async def test_a_decision_is_made_once_whoever_is_quickest(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    script.script = bell
    pending = await asked(conversation)

    async def decide(number: int) -> Any:
        return await intake.adecide(
            conversation,
            pending["tool_call"],
            "approved" if number % 2 else "denied",
            pending["args_hash"],
            by=Actor("user", str(number)),
            where=f"device {number}",
        )

    results = await asyncio.gather(*(decide(number) for number in range(6)), return_exceptions=True)
    losers = [result for result in results if isinstance(result, turns.AlreadyDecided)]
    assert len(losers) == 5
    call = await db.run(ToolCall.objects.get)
    for loser in losers:
        assert loser.facts["where"] == call.decided_where
        assert loser.facts["decision"] == call.status
    assert await db.run(events, conversation, "approval") == ["approval.requested", "approval.decided"]


async def test_only_what_was_shown_can_be_decided_and_only_where_it_may_be(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    async def strict(context: Context) -> AsyncIterator[Any]:
        yield NeedsApproval([Request("pay", {"amount": 5}, surfaces=["web"], fresh_sign_in=60)])

    script.script = strict
    pending = await asked(conversation)

    async def decide(call: str = pending["tool_call"], args_hash: str = pending["args_hash"], **other: Any) -> None:
        given = {"by": me(conversation), "where": "web", "signed_in_at": timezone.now(), **other}
        await intake.adecide(conversation, call, "approved", args_hash, **given)

    for refused, code in (
        ({"args_hash": "0" * 64}, "hash"),
        ({"where": "telegram"}, "not_here"),
        ({"signed_in_at": timezone.now() - timedelta(hours=1)}, "sign_in"),
        ({"signed_in_at": None}, "sign_in"),
    ):
        with pytest.raises(Refused) as caught:
            await decide(**refused)  # type: ignore[arg-type]
        assert caught.value.code == code
    for unknown in ("00000000-0000-4000-8000-000000000000", "nonsense"):
        with pytest.raises(NotFound):
            await decide(call=unknown)
    await decide()


async def test_nobody_decides_in_time(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = bell
    await asked(conversation)
    past = timezone.now() - timedelta(minutes=1)
    await db.run(lambda: ToolCall.objects.update(expires_at=past))
    assert await turns.aexpire() == 1
    assert await engine.run_waiting("w") == 1
    assert (await db.run(answers, conversation))[-1] == "Then not."
    decided = await db.run(Event.objects.get, type="approval.decided")
    assert json.loads(decided.body)["data"]["decision"] == "expired"


async def test_stopping_while_it_waits_cancels_the_request(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    script.script = bell
    pending = await asked(conversation)
    await db.run(say, conversation, "wait")
    assert await turns.arequest_stop(conversation, me(conversation))
    with pytest.raises(turns.AlreadyDecided) as caught:
        await intake.adecide(
            conversation, pending["tool_call"], "approved", pending["args_hash"], by=me(conversation), where="web"
        )
    assert caught.value.facts["decision"] == "cancelled"
    script.script = None
    assert await engine.run_waiting("w") == 1
    assert (await db.run(answers, conversation))[-1] == "answer to wait"
    assert await db.run(events, conversation, "steer") == ["steer.accepted", "steer.promoted"]


async def test_tools_without_approval_are_told(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    async def tools(context: Context) -> AsyncIterator[Any]:
        yield "Looking. "
        yield ToolUse("a", "weather", {"where": "Chios"})
        yield ToolUse("b", "tides")
        yield ToolDone("a", "sunny")
        yield ToolDone("b", error="no such harbour")
        yield "Sunny."

    script.script = tools
    await db.run(say, conversation, "weather?")
    await engine.run_waiting("w")
    assert await db.run(events, conversation, "tool") == ["tool.called", "tool.called", "tool.completed", "tool.failed"]
    calls = await db.run(lambda: list(ToolCall.objects.order_by("pk").values_list("name", "status", "result", "error")))
    assert calls == [("weather", "completed", "sunny", ""), ("tides", "failed", None, "no such harbour")]
    assert await db.run(answers, conversation) == ["Looking. Sunny."]


async def test_a_run_that_used_a_tool_is_not_begun_again(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    await db.run(say, conversation, "weather?")
    [run] = await engine.claim_waiting("dead", 1)
    await turns.acall_tool(run, "weather", {})
    past = timezone.now() - timedelta(minutes=1)
    await db.run(lambda: Run.objects.update(lease_until=past))
    assert await engine.run_waiting("w") == 0
    assert (await db.run(Run.objects.get)).status == "abandoned"


async def test_answering_again_answers_the_same_words(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    assert not await db.run(intake.answer_again, conversation, me(conversation))
    await db.run(say, conversation, "hello")
    await engine.run_waiting("w")
    assert await db.run(intake.answer_again, conversation, me(conversation))
    assert not await db.run(intake.answer_again, conversation, me(conversation))
    await engine.run_waiting("w")
    assert await db.run(answers, conversation) == ["answer to hello"] * 2
    assert [message.text for message in script.contexts[-1].messages] == ["hello"]


async def test_an_edited_message_is_what_the_agent_sees(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    await db.run(say, conversation, "helo")
    message = await db.run(Message.objects.select_related("conversation").get)
    await db.run(log.edit, message, "hello", me(conversation))
    await db.run(log.edit, message, "hello", me(conversation))
    await engine.run_waiting("w")
    assert await db.run(answers, conversation) == ["answer to hello"]
    assert await db.run(events, conversation, "message.edited") == ["message.edited"]
    assert await db.run(lambda: list(message.revisions.values_list("text", flat=True))) == ["helo"]
    await db.run(erase.message, message, me(conversation))
    assert not await db.run(Event.objects.filter(body__contains="helo").exists)
