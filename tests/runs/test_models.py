"""Whole turns with language models behind local servers: what is stored, what is said, and what stays secret."""

import asyncio
import io
import json
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext

from crossmemory import attachments, db, intake, log, turns
from crossmemory.agents import agents, tool
from crossmemory.attach import reader
from crossmemory.events import Actor
from crossmemory.memory import Context
from crossmemory.models import Attachment, Conversation, Event, Message, Owner, Preference, Run, ToolCall
from crossmemory.runs import engine
from tests.support.providers import Answer, Failure, Provider

pytestmark = pytest.mark.django_db(transaction=True)

MODELS = {
    "openai": "openai:gpt-5.6-luna",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "gemini": "google:gemini-3.8-flash",
}
KEY = "a-key-that-nobody-may-ever-read"


@pytest.fixture(params=list(MODELS))
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


@pytest.fixture
def site(settings: Any) -> Any:
    return settings


@asynccontextmanager
async def answering(site: Any, wire: str, *replies: Any, **options: Any) -> AsyncIterator[Provider]:
    """The site's agent is a model behind a local server that gives these replies."""
    async with Provider(wire, list(replies)) as provider:
        given = {"model": MODELS[wire], "base_url": provider.base_url, "api_key": KEY, "patience": 0.1, **options}
        backend = {"BACKEND": "crossmemory.agents.pydantic_ai.PydanticAIAgent", "OPTIONS": given}
        site.CROSSMEMORY = {**site.CROSSMEMORY, "AGENTS": {"default": backend}}
        yield provider
    assert provider.violations == []


@tool(requires_approval=True, title="Ring the bell?")
def ring(times: int) -> str:
    """Rings the bell."""
    return f"rung {times} times"


def say(conversation: Conversation, text: str, **more: Any) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)), **more)


async def turn(conversation: Conversation, text: str, **more: Any) -> Run:
    """One question, carried out."""
    await db.run(say, conversation, text, **more)
    await engine.run_waiting("w")
    return await db.run(lambda: Run.objects.latest("pk"))


def answers(conversation: Conversation) -> list[tuple[str, str]]:
    found = Message.objects.filter(conversation=conversation, role="assistant").order_by("seq")
    return list(found.values_list("text", "status"))


def failure() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Event.objects.filter(type="run.failed").latest("pk").body)["data"]
    return data


async def test_a_turn_says_what_it_cost(conversation: Conversation, site: Any, wire: str) -> None:
    async with answering(site, wire, Answer(["Hel", "lo"], cached_tokens=40)):
        run = await turn(conversation, "Hi")
    assert await db.run(answers, conversation) == [("Hello", "complete")]
    usage = run.usage or {}
    assert (usage["input_tokens"], usage["output_tokens"], usage["cache_read_tokens"]) == (100, 10, 40)
    assert float(usage["cost"]) > 0
    assert usage["first_text_seconds"] >= 0


@pytest.mark.parametrize("approved", [True, False])
async def test_permission_is_asked_on_the_web_and_given_on_the_phone(
    conversation: Conversation, site: Any, wire: str, approved: bool
) -> None:
    asks = Answer(["May I?"], [("ring", {"times": 3})])
    async with answering(site, wire, asks, Answer(["So be it."]), tools=[f"{__name__}.ring"]) as provider:
        run = await turn(conversation, "Ring the bell")
        assert run.status == "awaiting_approval"
        agents._made.clear()  # as in another process: nothing is left but what is stored
        snapshot = await db.run(reader.snapshot, conversation.pk)
        assert snapshot is not None
        [pending] = [each for each in snapshot.pending if each["type"] == "approval"]
        assert (pending["title"], pending["arguments"]) == ("Ring the bell?", {"times": 3})
        await db.run(say, conversation, "Gently, please")
        await intake.adecide(
            conversation,
            pending["tool_call"],
            "approved" if approved else "denied",
            pending["args_hash"],
            by=Actor("user", str(conversation.user_id)),
            where="telegram",
        )
        assert await engine.run_waiting("another") == 1
    assert [text for text, _ in await db.run(answers, conversation)] == ["May I?", "So be it."]
    call = await db.run(ToolCall.objects.get)
    assert (call.status, call.decided_where) == ("completed" if approved else "denied", "telegram")
    assert call.result == ("rung 3 times" if approved else None)
    second = str(provider.received[1].body)
    assert second.count("Gently, please") == 1
    assert second.count("May I?") == 1
    run = await db.run(Run.objects.get)
    usage = run.usage or {}
    assert (usage["requests"], usage["input_tokens"], len(usage["steps"])) == (2, 200, 2)


def dawdle(given: Context) -> str:
    """Takes so long that the person says something."""
    assert given.owner is not None
    chat = Conversation.objects.of(given.owner).get()
    say(chat, "Only twice")
    return "done"


async def test_what_was_taken_in_before_permission_is_asked_is_not_heard_again_after_it(
    conversation: Conversation, site: Any, wire: str
) -> None:
    replies = [Answer([], [("dawdle", {})]), Answer(["May I?"], [("ring", {"times": 2})]), Answer(["Done."])]
    async with answering(site, wire, *replies, tools=[dawdle, ring]) as provider:
        await turn(conversation, "Ring the bell")
        call = await db.run(ToolCall.objects.get, name="ring")
        await intake.adecide(
            conversation, str(call.uid), "approved", call.args_hash, by=Actor("user", "1"), where="web"
        )
        assert await engine.run_waiting("another") == 1
    assert [str(request.body).count("Only twice") for request in provider.received] == [0, 1, 1]
    assert await db.run(lambda: Run.objects.count()) == 1


async def test_what_a_provider_refuses_is_left_out_and_the_talk_goes_on(
    conversation: Conversation, site: Any, wire: str
) -> None:
    async with answering(site, wire, Answer([], finish="refused"), Answer(["Hello."])) as provider:
        run = await turn(conversation, "Something bad")
        assert run.status == "failed"
        assert (await db.run(failure))["code"] == "refused"
        assert await db.run(lambda: Message.objects.get(role="user").status) == "refused"
        run = await turn(conversation, "Something good")
    assert run.status == "completed"
    assert "Something bad" not in str(provider.received[-1].body)
    assert [each["reason"] for each in (run.manifest or {})["left_out"]] == ["refused"]


async def test_a_broken_stream_keeps_what_came(conversation: Conversation, site: Any, wire: str) -> None:
    async with answering(site, wire, Answer(["I ", "am ", "here"], breaks_after=4, pause=0.1)):
        run = await turn(conversation, "Hi")
    [(text, status)] = await db.run(answers, conversation)
    assert status == "interrupted"
    assert text.startswith("I")
    assert "broke off" in (await db.run(failure))["detail"]
    assert run.status == "failed"


async def test_what_was_too_long_stands_in_the_manifest(conversation: Conversation, site: Any, wire: str) -> None:
    async with answering(site, wire) as provider:
        for number in range(3):
            await turn(conversation, f"question {number}")
        provider.replies += [Failure("too_long"), Answer(["Fine."])]
        run = await turn(conversation, "And now?")
    manifest = run.manifest or {}
    assert run.status == "completed"
    assert [note["code"] for note in manifest["notes"]] == ["shrunk"]
    gone = [each["id"] for each in manifest["left_out"] if each["reason"] == "too long"]
    assert gone
    assert not set(gone) & {each["id"] for each in manifest["used"]}


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x02\x00\x00\x00\x02\x08\x02\x00\x00\x00" + b"0" * 20


async def test_a_picture_is_shown_once_and_never_again_after_it_was_refused(
    conversation: Conversation, site: Any, wire: str
) -> None:
    file = await attachments.akeep(conversation, io.BytesIO(PNG), name="harbour.png")
    parts = [{"attachment": str(file.uid)}]
    async with answering(site, wire, Failure("bad_image"), Answer(["I cannot see it."])) as provider:
        run = await turn(conversation, "[photo harbour.png] What is this?", parts=parts)
        assert run.status == "completed"
        assert await db.run(lambda: Attachment.objects.get().details["refused"]) is True
        assert await db.run(intake.answer_again, conversation, Actor("user", "1"))
        await engine.run_waiting("w")
        await turn(conversation, "And the next?")
    assert ["iVBORw0KGgo" in str(request.body) for request in provider.received] == [True, False, False, False]
    assert "harbour.png" in str(provider.received[-1].body)


async def test_a_file_that_is_gone_costs_no_answer(conversation: Conversation, site: Any) -> None:
    file = await attachments.akeep(conversation, io.BytesIO(PNG), name="harbour.png")
    async with answering(site, "openai") as provider:
        await db.run(file.file.storage.delete, file.file.name)
        run = await turn(conversation, "[photo harbour.png] What?", parts=[{"attachment": str(file.uid)}])
    assert run.status == "completed"
    assert "iVBORw0KGgo" not in str(provider.received[0].body)


async def test_the_line_is_in_the_persons_language(conversation: Conversation, site: Any) -> None:
    await db.run(Preference.objects.create, user_id=conversation.user_id, language="es")
    async with answering(site, "openai", Failure("overloaded"), patience=0):
        await turn(conversation, "Hola")
    with translation.override("es"):
        line = f"{gettext('The language model is overloaded just now.')} {gettext('Please try again in a moment.')}"
    assert (await db.run(failure))["detail"] == line


@pytest.fixture
def everything_is_logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.DEBUG):
        yield caplog


@pytest.mark.parametrize("kind", ["unauthorized", "quota", "server_error"])
async def test_keys_are_in_no_log_error_event_or_page(
    conversation: Conversation,
    site: Any,
    wire: str,
    kind: str,
    everything_is_logged: pytest.LogCaptureFixture,
    admin_user: Any,
) -> None:
    async with answering(site, wire, *[Failure(kind, echo=f"{KEY} and sk-another-1234567890")] * 9):
        run = await turn(conversation, "Hi")

    def check() -> None:
        client = Client()
        client.force_login(admin_user)
        page = client.get(reverse("admin:crossmemory_run_change", args=[run.pk]))
        assert page.status_code == 200
        assert "Model" in run.error  # staff see what it was
        events = "".join(Event.objects.values_list("body", flat=True))
        logged = everything_is_logged.text
        for place in (run.error, json.dumps([run.usage, run.manifest]), page.content.decode(), events, logged):
            assert KEY not in place
            assert "sk-another" not in place
        agent = agents["default"]
        assert KEY not in repr(agent)
        assert KEY not in repr(agent.check())

    assert run.status == "failed"
    await db.run(check)


async def test_stopping_a_model_keeps_what_was_written_and_what_it_cost(conversation: Conversation, site: Any) -> None:
    async with answering(site, "openai", Answer(["word "] * 100, pause=0.02)):
        await db.run(say, conversation, "Talk")
        running = asyncio.create_task(engine.run_waiting("w"))
        await asyncio.sleep(0.5)
        assert await turns.arequest_stop(conversation, Actor("user", "1"))
        await running
    [(text, status)] = await db.run(answers, conversation)
    assert status == "interrupted"
    assert text.startswith("word word")
