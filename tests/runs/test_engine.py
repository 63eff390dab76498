"""One turn: claimed, answered, finished; stopped, failed and taken over; and never lost."""

import asyncio
import json
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.db.models.functions import Now

from crossmemory import db, intake, log, turns
from crossmemory.events import Actor
from crossmemory.exceptions import Fenced
from crossmemory.models import Conversation, Event, Message, MessageChunk, Owner, Run
from crossmemory.runs import engine
from tests.support.runner import ScriptedAgent, eventually, slowly

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def say(conversation: Conversation, text: str) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)))


def events(conversation: Conversation) -> list[str]:
    return list(
        Event.objects.filter(conversation=conversation, seq__gt=1).order_by("seq").values_list("type", flat=True)
    )


def answers(conversation: Conversation) -> list[tuple[str, str]]:
    found = (
        Message.objects.filter(conversation=conversation, role="assistant").exclude(status="writing").order_by("seq")
    )
    return list(found.values_list("text", "status"))


async def test_a_question_is_answered_and_the_run_says_what_was_seen(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    await asyncio.to_thread(say, conversation, "hello")
    assert await engine.run_waiting("w") == 1

    def check() -> None:
        assert events(conversation) == [
            "message.completed",
            "run.queued",
            "run.started",
            "message.started",
            "message.completed",
            "run.completed",
        ]
        assert answers(conversation) == [("answer to hello", "complete")]
        assert MessageChunk.objects.count() == 0
        run = Run.objects.get()
        asked = Message.objects.get(role="user")
        assert (run.status, run.attempt, run.lease_until) == ("completed", 1, None)
        assert run.manifest["used"] == [{"id": asked.pk, "own": True, "surface": "web"}]
        answer = json.loads(Event.objects.get(seq=6).body)["data"]
        assert answer["saw"] == {"count": 1, "elsewhere": [], "left_out": 0, "missing": False}
        assert "<p>answer to hello</p>" in answer["html"]
        conversation.refresh_from_db()
        assert conversation.queued_seq is None

    await db.run(check)


async def test_messages_during_a_run_are_answered_after_it_and_together(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    async def slow(context: Any) -> Any:
        if len(script.contexts) == 1:
            for text in ("two", "three"):
                await db.run(say, conversation, text)
        yield f"re: {context.question}"

    script.script = slow
    await db.run(say, conversation, "one")
    assert await engine.run_waiting("w") == 2
    assert await db.run(answers, conversation) == [("re: one", "complete"), ("re: two\nthree", "complete")]


async def test_stopping_keeps_what_was_written(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = lambda context: slowly(*["word "] * 100, pause=0.05)
    await db.run(say, conversation, "talk")
    running = asyncio.create_task(engine.run_waiting("w"))
    assert await eventually(lambda: db.run(MessageChunk.objects.exists))
    assert await turns.arequest_stop(conversation, Actor("user", "1"))
    await running
    [(text, status)] = await db.run(answers, conversation)
    assert text.startswith("word word")
    assert status == "interrupted"
    assert (await db.run(events, conversation))[-2:] == ["message.interrupted", "run.stopped"]


async def test_a_queued_run_can_be_stopped(conversation: Conversation) -> None:
    await db.run(say, conversation, "talk")
    assert await turns.arequest_stop(conversation, Actor("user", "1"))
    assert await engine.run_waiting("w") == 0
    await db.run(say, conversation, "again")
    assert await engine.run_waiting("w") == 1


async def test_a_failing_agent_gets_an_honest_line(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    async def broken(context: Any) -> Any:
        yield "I was just"
        raise ValueError("a secret detail")

    script.script = broken
    await db.run(say, conversation, "hello")
    await engine.run_waiting("w")

    def check() -> None:
        run = Run.objects.get()
        assert run.status == "failed"
        assert "a secret detail" in run.error
        failed = Event.objects.get(type="run.failed").body
        assert "secret" not in failed
        assert answers(conversation) == [("I was just", "interrupted")]

    await db.run(check)
    script.script = None
    await db.run(say, conversation, "and now?")
    assert await engine.run_waiting("w") == 1


async def test_an_empty_answer_is_a_short_line(conversation: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = lambda context: slowly(" \n", "\u200b", pause=0)
    await db.run(say, conversation, "hello")
    await engine.run_waiting("w")
    assert await db.run(answers, conversation) == [("I have no answer to that.", "complete")]


async def test_history_that_cannot_be_read_degrades_loudly(
    conversation: Conversation, script: type[ScriptedAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("away")

    monkeypatch.setattr("crossmemory.memory.abuild_context", broken)
    await db.run(say, conversation, "hello")
    await engine.run_waiting("w")

    def check() -> None:
        run = Run.objects.get()
        assert run.status == "completed"
        assert run.degraded
        assert "away" in run.error
        data = json.loads(Event.objects.filter(type="message.completed").latest("seq").body)["data"]
        assert data["degraded"] is True
        assert data["saw"]["missing"] is True

    await db.run(check)
    assert script.contexts[0].question == "hello"
    assert script.contexts[0].missing


async def test_a_database_that_is_away_at_the_end_costs_no_answer(
    conversation: Conversation, script: type[ScriptedAgent], monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = turns.acomplete, [OperationalError("gone")] * 3
    monkeypatch.setattr("crossmemory.runs.storing._RETRY_SECONDS", 0.01)

    async def flaky(*args: Any, **kwargs: Any) -> Any:
        if failures:
            raise failures.pop()
        return await real(*args, **kwargs)

    monkeypatch.setattr(turns, "acomplete", flaky)
    await db.run(say, conversation, "hello")
    await engine.run_waiting("w")
    assert await db.run(answers, conversation) == [("answer to hello", "complete")]


def expire(run: Run) -> None:
    Run.objects.filter(pk=run.pk).update(lease_until=Now() - timedelta(seconds=1))


async def test_a_run_whose_process_died_before_showing_anything_is_tried_again(
    conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    await db.run(say, conversation, "hello")
    [run] = await engine.claim_waiting("dead", 1)
    assert await engine.run_waiting("other") == 0
    await db.run(expire, run)
    assert await engine.run_waiting("other") == 1
    assert await db.run(answers, conversation) == [("answer to hello", "complete")]
    assert (await db.run(Run.objects.get)).attempt == 2
    with pytest.raises(Fenced):
        await turns.arenew(run)


async def test_a_runner_does_not_take_a_run_from_itself(conversation: Conversation) -> None:
    await db.run(say, conversation, "hello")
    [run] = await engine.claim_waiting("me", 1)
    await db.run(expire, run)  # as after a time without a database
    assert await engine.claim_waiting("me", 1, in_hand=[run.pk]) == []
    assert not await turns.arenew(run)
    await db.run(expire, run)
    assert [taken.pk for taken in await engine.claim_waiting("another", 1)] == [run.pk]


async def test_a_run_that_had_shown_something_is_closed_visibly(conversation: Conversation) -> None:
    await db.run(say, conversation, "hello")
    [run] = await engine.claim_waiting("dead", 1)
    message = await turns.abegin_answer(run, {}, "Half an ans")
    await db.run(expire, run)
    assert await engine.run_waiting("other") == 0

    def check() -> None:
        assert answers(conversation) == [("Half an ans", "interrupted")]
        assert events(conversation)[-2:] == ["message.interrupted", "run.abandoned"]
        assert Run.objects.get().status == "abandoned"

    await db.run(check)
    for late in (
        turns.arenew(run),
        turns.acomplete(run, message, "late", saw={}, degraded=False, usage=None, outgoing=engine.outgoing),
        db.run(log.write, message, run, 11, "late"),
    ):
        with pytest.raises(Fenced):
            await late
    assert await db.run(answers, conversation) == [("Half an ans", "interrupted")]


async def test_two_workers_never_have_one_run(conversation: Conversation) -> None:
    await db.run(say, conversation, "hello")
    [run_id] = await turns.aclaimable()
    claims = await asyncio.gather(*(turns.aclaim(run_id, f"w{n}", engine.outgoing) for n in range(8)))
    assert len([run for run in claims if run is not None]) == 1
    assert (await db.run(events, conversation)).count("run.started") == 1


async def test_the_embedded_runner_answers_by_itself(
    conversation: Conversation, script: type[ScriptedAgent], settings: Any
) -> None:
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "RUNNER": {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"},
    }
    from crossmemory import runs

    try:
        await db.run(say, conversation, "hello")
        assert await eventually(lambda: db.run(answers, conversation)) == [("answer to hello", "complete")]
    finally:
        await sync_to_async(runs.runner().stop)(1)


async def test_the_embedded_runner_takes_up_what_waits_for_quiet_when_its_time_has_come(
    conversation: Conversation, script: type[ScriptedAgent], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crossmemory import intake, runs
    from crossmemory.runs import embedded

    monkeypatch.setattr(embedded, "_SWEEP_SECONDS", 1000)  # nothing but the late bell calls it
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "RUNNER": {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"},
    }
    author = Actor("user", str(conversation.user_id))
    try:
        for text in ("one", "two"):
            await db.run(intake.say, conversation, text, author=author, quiet=0.5)
        assert await eventually(lambda: db.run(answers, conversation)) == [("answer to one\ntwo", "complete")]
    finally:
        await sync_to_async(runs.runner().stop)(1)
