"""Paused: what comes in is stored, people are told once, no reply begins; resumed: what waited is answered."""

import asyncio
import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation

from crossmemory import db, intake, linking, log, pausing, turns
from crossmemory.events import Actor
from crossmemory.models import Conversation, Delivery, InboundUpdate, Message, Owner, Pause, Run, SurfaceLink
from crossmemory.runs import engine
from crossmemory.testing.factories import PauseFactory, PollerFactory
from tests.intake.phone import BOT, arrive, press, told
from tests.support.runner import ManualRunner, ScriptedAgent, eventually

pytestmark = pytest.mark.django_db(transaction=True)

DEFAULT = "I am taking a break. What you write is kept, and I answer it when I am back."


class QueueRunner(ManualRunner):
    """Somebody else's queue: it carries out what it is woken for, and looks for nothing."""

    woken = 0

    def wake(self, after: float = 0) -> None:
        type(self).woken += 1


@pytest.fixture(autouse=True)
def _by_hand(settings: Any) -> None:
    QueueRunner.woken = 0
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "RUNNER": {"BACKEND": "tests.test_pausing.QueueRunner"}}


@pytest.fixture
def link(user: Any) -> SurfaceLink:
    code, _ = linking.create_code(user, "telegram", "both")
    arrive(f"/start {code}")
    (pending,) = linking.accounts(user)
    linking.confirm(user, pending.uid)
    Delivery.objects.all().delete()
    return linking.accounts(user)[0]


@pytest.fixture
def chat(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def ask(chat: Conversation, text: str = "hello") -> None:
    intake.say(chat, text, author=Actor("user", str(chat.user_id)))


def at_once() -> None:
    """What is being said is complete."""
    Run.objects.filter(status="queued").update(not_before=None)


def answered() -> int:
    return Message.objects.filter(role="assistant").count()


async def carried_out() -> int:
    await db.run(at_once)
    return await engine.run_waiting("w")


async def test_what_is_paused_waits_and_is_answered_after_it(chat: Conversation, script: type[ScriptedAgent]) -> None:
    pause = await db.run(pausing.pause)
    for text in ("one", "two"):
        await db.run(ask, chat, text)
    assert await carried_out() == 0
    assert await db.run(Message.objects.filter(role="user").count) == 2
    shown = await db.run(lambda: pausing.with_waiting(pausing.within()).get())
    assert (shown, shown.waiting) == (pause, 1)
    assert await db.run(pausing.resume, pausing.within()) == 1
    assert await carried_out() == 1
    assert [message.text for message in script.contexts[0].asked] == ["one", "two"]


@pytest.mark.parametrize(
    ("scope", "paused"),
    [
        ({}, True),
        ({"surface": "web"}, True),
        ({"agent": "default"}, True),
        ({"surface": "web", "agent": "default"}, True),
        ({"surface": "telegram"}, False),
        ({"agent": "other"}, False),
        ({"surface": "web", "agent": "other"}, False),
        ({"surface": "telegram", "agent": "default"}, False),
    ],
)
def test_only_what_is_named_is_paused(chat: Conversation, scope: dict[str, str], paused: bool) -> None:
    PauseFactory(**scope)
    ask(chat)
    assert turns.claimable() == ([] if paused else [Run.objects.get().pk])
    assert (pausing.Pauses().over("default", "web") is not None) == paused


def test_a_reply_under_way_is_finished_and_what_came_meanwhile_waits(chat: Conversation) -> None:
    ask(chat)
    run = turns.claim(Run.objects.get().pk, "w", lambda *_: None)
    assert run is not None
    pausing.pause()
    ask(chat, "and then?")
    assert turns.renew(run) is False
    turns.complete(run, None, "done", saw={}, degraded=False, usage=None, outgoing=lambda *_: None)
    assert Run.objects.filter(status="queued").count() == 1
    assert turns.claimable() == []


@pytest.mark.parametrize("state", ["decided", "left by a dead process"])
def test_a_reply_does_not_go_on_either(chat: Conversation, state: str) -> None:
    ask(chat)
    if state == "decided":
        Run.objects.update(status="awaiting_approval", ready=True, attempt=1)
    else:
        Run.objects.update(status="running", lease_until=timezone.now() - timedelta(seconds=1), attempt=1)
    assert len(turns.claimable()) == 1
    pausing.pause()
    assert turns.claimable() == []


def test_people_are_told_once_in_each_pause(link: SurfaceLink) -> None:
    pausing.pause()
    assert [arrive(text).outcome for text in ("one", "two", "three")] == ["message, paused", "message", "message"]
    assert told() == [DEFAULT]
    pausing.resume(pausing.within())
    assert arrive("four").outcome == "message"
    pausing.pause("telegram", text="Back at ten.")
    arrive("five")
    arrive("six")
    assert told() == [DEFAULT, "Back at ten."]
    assert Message.objects.filter(role="user").count() == 6


def test_what_came_before_the_pause_and_is_handled_in_it_is_told_once_too(link: SurfaceLink) -> None:
    """The bot was away: what it finds is older than the pause."""
    pausing.pause()
    long_ago = timezone.now() - timedelta(hours=3)
    for text in ("one", "two"):
        row = arrive(text)
        InboundUpdate.objects.filter(pk=row.pk).update(received_at=long_ago)
    assert told() == [DEFAULT]


def test_people_are_told_in_their_language(link: SurfaceLink) -> None:
    SurfaceLink.objects.update(language="es")
    pausing.pause()
    arrive("hola")
    with translation.override("es"):
        assert told() == [pausing.Paused(timezone.now(), "").words]


def test_commands_work_and_questions_are_answered(link: SurfaceLink) -> None:
    pausing.pause()
    assert arrive("/help").outcome == "/help"
    assert arrive("/language es").outcome == "/language"
    assert DEFAULT not in told()


def test_to_answer_again_waits_and_that_is_said(link: SurfaceLink) -> None:
    arrive("hello")
    Run.objects.update(status="completed")
    pausing.pause(text="Later.")
    arrive("/again")
    message = Message.objects.get(role="user")
    Run.objects.filter(status="queued").update(status="completed")
    press(f"again:{message.uid}")
    assert told() == ["Later.", "Later."]


def test_the_narrowest_words_count(db: None) -> None:
    pausing.pause(text="everything")
    pausing.pause(agent="default", text="this assistant")
    pausing.pause("telegram", text="here")
    pausing.pause("telegram", "default")

    def words(agent: str, surface: str) -> str:
        found = pausing.Pauses().over(agent, surface)
        assert found is not None
        return found.words

    assert words("default", "telegram") == "here"
    assert words("other", "telegram") == "here"
    assert words("default", "web") == "this assistant"
    assert words("other", "web") == "everything"


def test_another_text_for_what_is_paused_begins_no_other_pause(link: SurfaceLink) -> None:
    pausing.pause()
    arrive("one")
    assert pausing.pause(text="A longer break \x00").notice == "A longer break \ufffd"
    arrive("two")
    assert told() == [DEFAULT]
    assert Pause.objects.count() == 1


def test_a_queue_is_woken_at_the_end_and_one_that_looks_is_not(chat: Conversation, settings: Any) -> None:
    pausing.pause()
    ask(chat)
    woken = QueueRunner.woken
    pausing.resume(pausing.within())
    assert QueueRunner.woken == woken + 1
    QueueRunner.looks = True
    try:
        pausing.pause()
        pausing.resume(pausing.within())
    finally:
        QueueRunner.looks = False
    assert QueueRunner.woken == woken + 1


async def test_the_embedded_runner_finds_what_waited(chat: Conversation, settings: Any) -> None:
    from crossmemory.runs.embedded import EmbeddedRunner

    runner = EmbeddedRunner("test")
    assert runner.looks
    await db.run(pausing.pause)
    await db.run(ask, chat)
    runner.wake()
    try:
        await asyncio.sleep(0.1)
        assert await db.run(answered) == 0
        await db.run(pausing.resume, pausing.within())
        assert await eventually(lambda: db.run(answered))
    finally:
        await asyncio.to_thread(runner.stop, 1)


def test_a_turn_costs_one_small_query_more(link: SurfaceLink) -> None:
    arrive("one")
    with CaptureQueriesContext(connection) as captured:
        arrive("two")
    assert sum("crossmemory_pause" in query["sql"] for query in captured) == 1


def run_command(*args: str) -> str:
    out = StringIO()
    call_command("crossmemory_pause", *args, stdout=out)
    return out.getvalue()


def test_the_command_starts_shows_and_ends(chat: Conversation) -> None:
    assert run_command() == "Nothing is paused.\n"
    ask(chat)
    shown = run_command("start", "--surface", "web", "--text", "Back at ten.")
    assert "Paused: web, since" in shown
    assert "1 replies wait. People are told: Back at ten." in shown
    run_command("start", "--agent", "default")
    assert run_command("show").count("Paused:") == 2
    assert "Paused: default" in run_command("end", "--surface", "web")
    run_command("start", "--everything")
    assert run_command("end", "--everything") == "Nothing is paused.\n"
    assert "was not paused" in run_command("end", "--everything")


@pytest.mark.parametrize(
    "args",
    [
        ("start",),
        ("end",),
        ("start", "--everything", "--surface", "web"),
        ("start", "--surface", "pigeon"),
        ("start", "--agent", "nobody"),
        ("start", "--everything", "--text", "x" * 1001),
    ],
)
def test_the_command_says_what_is_wrong(db: None, args: tuple[str, ...]) -> None:
    with pytest.raises(CommandError) as refused:
        run_command(*args)
    assert refused.value.returncode == 2
    assert not Pause.objects.exists()


def test_what_has_gone_from_the_settings_can_be_resumed(db: None) -> None:
    PauseFactory(surface="pigeon")
    assert run_command("end", "--surface", "pigeon") == "Nothing is paused.\n"


def test_health_shows_it_and_is_no_worse_for_it(settings: Any, db: None) -> None:
    PollerFactory(account=BOT, last_success_at=timezone.now())
    PauseFactory(surface="web")
    PauseFactory(agent="default")
    for args in (("--json",), ()):
        out = StringIO()
        call_command("crossmemory_health", "--surface", "telegram", *args, stdout=out)
        if args:
            (shown,) = json.loads(out.getvalue())["surfaces"]
            assert [each.partition(" since ")[0] for each in shown["paused"]] == ["default"]
            assert shown["problems"] == []
        else:
            assert "  paused: default since" in out.getvalue()
