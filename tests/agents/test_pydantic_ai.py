"""Language models, offline: real SDKs against local servers that speak each provider's wire format."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from crossmemory.agents import (
    Agent,
    AgentError,
    Decided,
    NeedsApproval,
    Note,
    Output,
    Text,
    ToolDone,
    ToolUse,
    Unkept,
    Usage,
    tool,
)
from crossmemory.agents.pydantic_ai import PydanticAIAgent
from crossmemory.memory import Context, Picture
from crossmemory.testing.agents import AgentContract, context, said
from tests.support.providers import Answer, Failure, Provider
from tests.support.runner import eventually

WIRES = {
    "openai": "openai:gpt-5.6-luna",
    "anthropic": "anthropic:claude-sonnet-5-5",
    "gemini": "google:gemini-3.8-flash",
}
KEY = "sk-a-secret-that-nobody-may-read"


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def served(wire: str, *replies: Any, **options: Any) -> AsyncIterator[tuple[Provider, PydanticAIAgent]]:
    """A local server with scripted replies, and an agent that talks to it. No request may break its rules."""
    async with Provider(wire, list(replies)) as provider:
        given = {"patience": 0.5, "instructions": "Be kind.", **options}
        yield provider, PydanticAIAgent(wire, model=WIRES[wire], base_url=provider.base_url, api_key=KEY, **given)
    assert provider.violations == []


async def outputs(agent: Agent, given: Context) -> tuple[list[Output], AgentError | None]:
    """What came, and the error it ended with."""
    found: list[Output] = []
    try:
        async for output in agent.reply(given):
            found.append(output)
    except AgentError as error:
        return found, error
    return found, None


def text(found: Sequence[Output]) -> str:
    return "".join(each.text for each in found if isinstance(each, Text))


def of(kind: Any, found: Sequence[Output]) -> list[Any]:
    return [each for each in found if isinstance(each, kind)]


def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


async def whose(given: Context, loudly: bool = False) -> str:
    """Says whose conversation this is."""
    return f"{given.question}{'!' if loudly else ''}"


@tool(requires_approval=True, title=lambda times: f"Ring {times} times?", surfaces=["web"], fresh_sign_in=60)
def ring(times: int) -> dict[str, int]:
    """Rings the bell."""
    return {"rung": times}


def broken() -> str:
    """Always fails."""
    raise ValueError("a private detail")


class OnAWire(AgentContract):
    """The shipped contract, with a server that repeats the question."""

    wire = ""

    @pytest.fixture(autouse=True)
    async def server(self) -> AsyncIterator[None]:
        async with Provider(self.wire, always=self.echo) as provider:
            self.provider = provider
            yield
        assert provider.violations == []

    def echo(self, request: Any) -> Answer:
        return Answer(["You asked: ", str(request.body.get("messages", request.body.get("contents"))[-1])])

    def make(self) -> Agent:
        return PydanticAIAgent("default", model=WIRES[self.wire], base_url=self.provider.base_url, api_key=KEY)


class TestOpenAI(OnAWire):
    wire = "openai"


class TestAnthropic(OnAWire):
    wire = "anthropic"


class TestGemini(OnAWire):
    wire = "gemini"


def test_no_sdk_is_imported_before_it_is_needed() -> None:
    code = (
        "import django; from django.conf import settings; settings.configure(INSTALLED_APPS="
        "['django.contrib.auth', 'django.contrib.contenttypes', 'crossmemory'], USE_TZ=True); django.setup();"
        "import sys, crossmemory.agents, crossmemory.agents.pydantic_ai as ours;"
        "ours.PydanticAIAgent('a', model='openai:gpt-5-mini', api_key='x', tools=['os.getcwd']).check();"
        "print([name for name in ('pydantic_ai', 'openai', 'anthropic', 'google.genai') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_text_comes_in_pieces_with_what_it_cost(wire: str) -> None:
    async with served(wire, Answer(["Hel", "lo"], cached_tokens=60)) as (provider, agent):
        found, error = await outputs(agent, context(said("Hi")))
    assert error is None
    assert [each.text for each in of(Text, found)] == ["Hel", "lo"]
    [usage] = [each.values for each in of(Usage, found)]
    assert (usage["input_tokens"], usage["cache_read_tokens"], usage["output_tokens"]) == (100, 60, 10)
    assert float(usage["cost"]) > 0
    assert [step["finish"] for step in usage["steps"]] == ["stop"]
    assert "Be kind." in str(provider.received[0].body)
    assert KEY in str(provider.received[0].headers)


async def test_history_goes_in_as_turns_and_the_question_comes_last(wire: str) -> None:
    history = [
        said("The code is 4471.", key=1, own=False, surface="telegram"),
        said("Noted.", key=2, role="assistant", own=False, surface="telegram", turn=1),
        said("Hi", key=3),
        said("Hello!", key=4, role="assistant", turn=3),
        said("Which code?", key=5),
    ]
    async with served(wire) as (provider, agent):
        await outputs(agent, context(*history))
    body = provider.received[0].body
    turns = body.get("messages") or body["contents"]
    turns = [turn for turn in turns if turn["role"] != "system"]
    assert [turn["role"] for turn in turns] == ["user", "model" if wire == "gemini" else "assistant", "user"]
    assert "4471" in str(turns[0])
    assert "Which code?" in str(turns[2])


@pytest.mark.parametrize("history", [[], [said("Hi", key=1), said("Hello!", key=2, role="assistant", turn=1)]])
async def test_a_model_is_not_asked_to_answer_itself(wire: str, history: list[Any]) -> None:
    async with served(wire) as (provider, agent):
        assert await outputs(agent, context(*history)) == ([], None)
    assert provider.received == []


async def test_half_a_surrogate_pair_reaches_no_provider(wire: str) -> None:
    async with served(wire) as (provider, agent):
        _found, error = await outputs(agent, context(said("half \ud83d of one, and a whole \N{GRINNING FACE}")))
    assert error is None
    assert "\N{GRINNING FACE}" in json.dumps(provider.received[0].body, ensure_ascii=False)


async def test_tools_are_told_and_used(wire: str) -> None:
    calls = Answer(["Let me see."], [("add", {"a": 1, "b": 2}), ("whose", {"loudly": True})])
    async with served(wire, calls, Answer(["It is 3."]), tools=[add, whose]) as (provider, agent):
        found, error = await outputs(agent, context(said("1+2?")))
    assert error is None
    uses, done = of(ToolUse, found), of(ToolDone, found)
    assert [(use.name, use.arguments) for use in uses] == [("add", {"a": 1, "b": 2}), ("whose", {"loudly": True})]
    assert {each.key: each.result for each in done} == {uses[0].key: 3, uses[1].key: "1+2?!"}
    assert text(found) == "Let me see.\n\nIt is 3."
    assert "Adds two numbers." in str(provider.received[0].body)
    assert of(Usage, found)[-1].values["requests"] == 2


def look_up() -> Unkept:
    """Looks something up."""
    return Unkept({"found": "the secret"}, {"found": 1})


async def test_what_a_tool_does_not_want_kept_is_for_the_model_alone(wire: str) -> None:
    calls = Answer([], [("look_up", {})])
    async with served(wire, calls, Answer(["I know."]), tools=[look_up]) as (provider, agent):
        found, error = await outputs(agent, context(said("What?")))
    assert error is None
    assert [done.result for done in of(ToolDone, found)] == [{"found": 1}]
    assert "the secret" in str(provider.received[1].body)
    assert "the secret" not in str(found)


async def test_a_tool_that_fails_does_not_end_the_answer(wire: str, caplog: pytest.LogCaptureFixture) -> None:
    async with served(wire, Answer([], [("broken", {})]), Answer(["It failed."]), tools=[broken]) as (provider, agent):
        found, error = await outputs(agent, context(said("Try")))
    assert error is None
    assert text(found) == "It failed."
    [done] = of(ToolDone, found)
    assert done.error
    assert "a private detail" not in str(provider.received[1].body)
    assert "a private detail" in caplog.text


async def asked_to_ring(wire: str) -> tuple[Context, NeedsApproval]:
    given = context(said("Ring and add", key=7))
    calls = Answer(["I would."], [("add", {"a": 1, "b": 2}), ("ring", {"times": 3})])
    async with served(wire, calls, tools=[add, ring]) as (_provider, agent):
        found, error = await outputs(agent, given)
    assert error is None
    assert [use.name for use in of(ToolUse, found)] == ["add"]
    assert isinstance(found[-1], NeedsApproval)
    return given, found[-1]


async def test_a_tool_that_needs_permission_waits_for_it(wire: str) -> None:
    _given, asks = await asked_to_ring(wire)
    [request] = asks.requests
    assert (request.name, request.arguments, request.title) == ("ring", {"times": 3}, "Ring 3 times?")
    assert (request.surfaces, request.fresh_sign_in) == (["web"], 60)


@pytest.mark.parametrize("decision", ["approved", "denied", "expired"])
async def test_it_goes_on_elsewhere_once_that_is_decided(wire: str, decision: str) -> None:
    given, asks = await asked_to_ring(wire)
    state = json.loads(json.dumps(asks.state))
    decided = Decided("ours", "ring", {"times": 3}, decision == "approved", decision)
    later = [
        *given.messages,
        said("I would.", key=8, role="assistant", turn=7),
        said("But gently", key=9, turn=7),
    ]
    again = replace(context(*later), decisions=[decided], state=state, asked_until=7)
    async with served(wire, Answer(["Rung."]), tools=[add, ring]) as (provider, agent):
        found, error = await outputs(agent, again)
    assert error is None
    assert text(found) == "Rung."
    assert of(ToolUse, found) == []
    approved = decision == "approved"
    assert of(ToolDone, found) == ([ToolDone("ours", {"rung": 3})] if approved else [])
    body = str(provider.received[0].body)
    assert ("rung" in body) is approved
    assert body.count("I would.") == 1
    assert body.count("But gently") == 1
    assert ("did not allow" in body) is (decision == "denied")


async def test_what_is_said_between_two_steps_goes_along(wire: str) -> None:
    steers = iter([[], ["Make it 5"]])

    async def take() -> list[str]:
        return next(steers, [])

    calls = Answer([], [("add", {"a": 1, "b": 2})])
    async with served(wire, calls, Answer(["Done."]), tools=[add]) as (provider, agent):
        await outputs(agent, replace(context(said("1+2?")), take_steers=take))
    assert "Make it 5" not in str(provider.received[0].body)
    assert "Make it 5" in str(provider.received[1].body)


PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 32


def shown(given: Context, *mimes: str) -> Context:
    async def load(most: int, most_bytes: int) -> list[Picture]:
        return [Picture(f"file-{n}", mime, PNG) for n, mime in enumerate(mimes)][:most]

    return replace(given, load_pictures=load)


async def test_pictures_of_the_question_are_shown(wire: str) -> None:
    given = shown(context(said("[photo] What is this?")), "image/png", "image/heic")
    async with served(wire) as (provider, agent):
        await outputs(agent, given)
    body = str(provider.received[0].body)
    assert body.count("iVBORw0KGgo") == 1
    assert "heic" not in body


async def test_a_picture_that_is_refused_is_left_out_and_the_words_are_answered(wire: str) -> None:
    given = shown(context(said("[photo] What is this?")), "image/png")
    async with served(wire, Failure("bad_image"), Answer(["I cannot see it."])) as (provider, agent):
        found, error = await outputs(agent, given)
    assert error is None
    assert text(found) == "I cannot see it."
    [note] = of(Note, found)
    assert (note.code, list(note.attachments)) == ("pictures_refused", ["file-0"])
    assert "iVBORw0KGgo" not in str(provider.received[1].body)
    assert "What is this?" in str(provider.received[1].body)


async def test_what_is_too_long_is_shortened_once_and_noted(wire: str) -> None:
    history = []
    for n in range(1, 9, 2):
        history += [said(f"question {n}", key=n), said(f"answer {n}", key=n + 1, role="assistant", turn=n)]
    given = context(*history, said("And now?", key=99))
    async with served(wire, Failure("too_long"), Answer(["Fine."])) as (provider, agent):
        found, error = await outputs(agent, given)
        assert error is None
        [note] = of(Note, found)
        assert (note.code, list(note.left_out)) == ("shrunk", [1, 2, 3, 4])
        assert "question 1" not in str(provider.received[1].body)
        assert "question 5" in str(provider.received[1].body)
        provider.replies += [Failure("too_long"), Failure("too_long")]
        found, error = await outputs(agent, given)
    assert error is not None
    assert (error.code, error.refused) == ("context_too_long", [])
    assert len(provider.received) == 4


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("unauthorized", "unauthorized"),
        ("quota", "quota"),
        ("server_error", "provider_error"),
        ("overloaded", "overloaded"),
        ("rate_limited", "rate_limited"),
    ],
)
async def test_the_person_gets_an_honest_line(wire: str, kind: str, code: str) -> None:
    async with served(wire, *[Failure(kind, echo=KEY)] * 9, patience=0) as (provider, agent):
        _found, error = await outputs(agent, context(said("Hi")))
    assert error is not None
    assert error.code == code
    assert "model" in error.detail
    assert KEY not in str(error)
    assert len(provider.received) == 1


@pytest.mark.parametrize("kind", ["rate_limited", "overloaded", "server_error"])
async def test_passing_trouble_is_waited_out(wire: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    async def counted(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr("crossmemory.agents.pydantic_ai.watch.sleep", counted)
    async with served(wire, Failure(kind, 7), Failure(kind), Answer(["Here."]), patience=30) as (_provider, agent):
        found, error = await outputs(agent, context(said("Hi")))
    assert error is None
    assert text(found) == "Here."
    assert waits[0] == 7
    assert 1 < waits[1] < 3
    assert [note.code for note in of(Note, found)] == ["waited", "waited"]


async def test_nobody_waits_for_an_hour(wire: str) -> None:
    async with served(wire, Failure("rate_limited", 3600), patience=30) as (provider, agent):
        _found, error = await outputs(agent, context(said("Hi")))
    assert error is not None
    assert "60 minutes" in error.detail
    assert len(provider.received) == 1


async def test_a_refused_question_is_to_be_left_out(wire: str) -> None:
    async with served(wire, Answer([], finish="refused")) as (provider, agent):
        found, error = await outputs(agent, context(said("Something bad", key=5)))
    assert error is not None
    assert (error.code, list(error.refused)) == ("refused", [5])
    assert len(provider.received) == 1
    assert of(Usage, found)


async def test_a_refusal_because_of_what_came_before_does_not_last(wire: str) -> None:
    given = context(said("Bad", key=1), said("ok", key=2, role="assistant", turn=1), said("Hello?", key=3))
    async with served(wire, Answer([], finish="refused"), Answer(["Hello."])) as (provider, agent):
        found, error = await outputs(agent, given)
    assert error is None
    assert text(found) == "Hello."
    assert [(note.code, list(note.left_out)) for note in of(Note, found)] == [("history_refused", [1, 2])]
    assert "Bad" not in str(provider.received[1].body)


async def test_an_answer_that_is_cut_off_by_a_filter_is_not_taken_for_whole(wire: str) -> None:
    async with served(wire, Answer(["I would"], finish="refused")) as (_provider, agent):
        found, error = await outputs(agent, context(said("Something bad", key=5)))
    assert text(found) == "I would"
    assert error is not None
    assert error.code == "refused"


@pytest.mark.parametrize(
    "answer",
    [Answer(["I ", "am ", "here"], breaks_after=3), Answer(["I ", "am ", "here"], fails_after=(3, "overloaded"))],
)
async def test_a_stream_that_breaks_keeps_what_came(wire: str, answer: Answer) -> None:
    async with served(wire, answer) as (provider, agent):
        found, error = await outputs(agent, context(said("Hi")))
    assert text(found).startswith("I")
    assert error is not None
    assert error.code == "broken_off"
    assert len(provider.received) == 1


async def test_a_stream_that_breaks_before_it_says_anything_is_tried_again(wire: str) -> None:
    async with served(wire, Answer(["x"], breaks_after=0), Answer(["Here."]), patience=3) as (_provider, agent):
        found, error = await outputs(agent, context(said("Hi")))
    assert error is None
    assert text(found) == "Here."


async def test_a_silent_provider_is_not_waited_for_for_ever(wire: str) -> None:
    async with served(wire, Answer(["x"], pause=20), timeout=0.2, attempts=1) as (_provider, agent):
        _found, error = await outputs(agent, context(said("Hi")))
    assert error is not None
    assert error.code == "timeout"


async def test_stopping_closes_the_connection(wire: str) -> None:
    async with served(wire, Answer(["word "] * 50, pause=0.05)) as (provider, agent):
        answer = agent.reply(context(said("Talk")))
        await anext(answer)
        await asyncio.sleep(0.02)  # it waits for the provider by now
        await answer.aclose()  # type: ignore[attr-defined]
        assert await eventually(lambda: asyncio.sleep(0, result=not provider.streaming), seconds=2)


async def test_anthropic_is_told_where_the_stable_part_ends() -> None:
    async with served("anthropic", tools=[add]) as (provider, agent):
        await outputs(agent, context(said("Hi")))
    body = provider.received[0].body
    assert "cache_control" in body["system"][-1]
    assert "cache_control" in body["tools"][-1]
    assert "cache_control" in body


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "gpt-5"}, "crossmemory.E012"),
        ({"model": "openai:gpt-5"}, "crossmemory.W004"),
        ({"model": "openai:gpt-5", "api_key": "x", "tools": ["nowhere.at_all"]}, "crossmemory.E013"),
        ({"model": "openai:gpt-5", "api_key": "x", "tools": [add, lambda: 1, lambda: 2]}, "crossmemory.E013"),
        ({"model": "openai:gpt-5", "api_key": "x", "instructions": "nowhere.at_all"}, "crossmemory.E013"),
    ],
)
def test_wrong_options_are_named(options: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert [message.id for message in PydanticAIAgent("default", **options).check()] == [expected]


def instructions(given: Context) -> str:
    return f"Speak {given.language}."


async def test_instructions_may_be_a_function(wire: str) -> None:
    async with served(wire, instructions=f"{__name__}.instructions") as (provider, agent):
        await outputs(agent, context(said("Hola"), language="es"))
    assert "Speak es." in str(provider.received[0].body)
