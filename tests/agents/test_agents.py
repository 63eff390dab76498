"""The agents that come with the app."""

from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import pytest

from crossmemory.agents import Agent, Decided, NeedsApproval, Text, ToolDone
from crossmemory.agents.callable import CallableAgent
from crossmemory.agents.recall import RecallAgent, compose
from crossmemory.memory import Context
from crossmemory.models import Conversation
from crossmemory.testing.agents import AgentContract, ScriptedAgent, collect, context, said
from project.agents import HarbourAgent


class TestRecallAgent(AgentContract):
    def make(self) -> Agent:
        return RecallAgent("default")


class TestScriptedAgent(AgentContract):
    def make(self) -> Agent:
        ScriptedAgent.forget()
        return ScriptedAgent("default")


def plain(given: Context) -> str:
    return f"you said: {given.question}"


async def coroutine(given: Context) -> str:
    return f"you said: {given.question}"


async def generator(given: Context) -> AsyncIterator[str]:
    for word in ("you ", "said: ", given.question):
        yield word


class TestPlainFunction(AgentContract):
    def make(self) -> Agent:
        return CallableAgent("default", FUNCTION=f"{__name__}.plain")


class TestCoroutine(AgentContract):
    def make(self) -> Agent:
        return CallableAgent("default", FUNCTION=coroutine)


class TestGenerator(AgentContract):
    def make(self) -> Agent:
        return CallableAgent("default", FUNCTION=generator)


async def test_a_generator_streams() -> None:
    _, pieces = await collect(CallableAgent("default", FUNCTION=generator), context(said("hi")))
    assert pieces == [Text("you "), Text("said: "), Text("hi")]


@pytest.mark.django_db(transaction=True)
async def test_a_plain_function_may_use_the_database() -> None:
    def count(given: Context) -> str:
        return f"{Conversation.objects.count()} conversations"

    answer, _ = await collect(CallableAgent("default", FUNCTION=count), context(said("how many?")))
    assert answer == "0 conversations"


FERRY = "My ferry leaves at 07:35 from gate E4. Please remember."


@pytest.mark.parametrize(
    ("earlier", "question", "expected"),
    [
        ([FERRY], "When does my ferry leave?", "07:35"),
        ([FERRY, "I like blue"], "which gate for the ferry?", "gate E4"),
        (["Mi ferry sale a las 07:35 de la puerta E4."], "¿Cuándo sale mi ferry?", "07:35"),
        (["El código de la puerta es 4471"], "¿qué codigo tiene la puerta?", "4471"),
        (["The hotel is the Aegeas, door code 4471."], "What's the door code of my hotel?", "4471"),
        ([FERRY], "what do you remember?", "07:35"),
        ([FERRY], "¿Qué recuerdas?", "07:35"),
    ],
)
def test_it_finds_what_was_said(earlier: list[str], question: str, expected: str) -> None:
    messages = [said(text, key=key, own=False, surface="telegram") for key, text in enumerate(earlier, 1)]
    answer = compose(context(*messages, said(question, key=9)))
    assert expected in answer
    assert "Telegram" in answer
    assert "10:0" in answer


def test_the_newest_word_comes_first() -> None:
    old = said("My ferry leaves at 07:35.", key=1)
    noted = said("Noted.", key=2, role="assistant", turn=1)
    new = said("My ferry leaves at 09:10 instead.", key=3, own=False, surface="telegram")
    answer = compose(context(old, noted, new, said("When does my ferry leave?", key=4)))
    assert answer.index("09:10") < answer.index("07:35")


def test_it_says_openly_what_it_is_and_that_it_found_nothing() -> None:
    assert "No language model is connected" in compose(context(said("When does the train leave?")))
    assert "No language model is connected" in compose(context(said("My train leaves at nine.")))
    assert "nothing" in compose(context(said("What do you remember?")))


def test_it_says_that_history_is_missing() -> None:
    assert "could not be read" in compose(context(said("When does my ferry leave?"), missing=True))


async def test_it_never_reads_the_database() -> None:
    """pytest-django refuses every query of a test that does not ask for the database."""
    answer, _ = await collect(RecallAgent("default"), context(said(FERRY, key=1, own=False), said("My ferry?", key=2)))
    assert "07:35" in answer
    assert answer.startswith("On the web, on 30 November at 10:01")


@pytest.mark.parametrize("make", [lambda: RecallAgent("default", speed=1), lambda: CallableAgent("default")])
def test_a_wrong_option_is_refused(make: Callable[[], Agent]) -> None:
    with pytest.raises(TypeError):
        make()


class TestHarbourAgent(AgentContract):
    """The demo's."""

    def make(self) -> Agent:
        return HarbourAgent("default")


async def test_the_demos_agent_asks_before_it_rings_the_bell() -> None:
    agent = HarbourAgent("default")
    _, pieces = await collect(agent, context(said("Please ring the bell")))
    assert isinstance(pieces[-1], NeedsApproval)
    [request] = pieces[-1].requests
    for approved, expected in ((True, "Ding"), (False, "quiet")):
        decided = Decided("id", request.name, request.arguments, approved, "approved" if approved else "denied")
        answer, pieces = await collect(agent, replace(context(said("Please ring the bell")), decisions=[decided]))
        assert expected in answer
        assert any(isinstance(piece, ToolDone) for piece in pieces) is approved


async def test_the_demos_agent_listens_while_it_counts() -> None:
    steers = iter([["faster"], []])

    async def take() -> list[str]:
        return next(steers, [])

    answer, _ = await collect(HarbourAgent("default"), replace(context(said("Count to 3")), take_steers=take))
    assert answer == "1 (You say: “faster”. I heard it.) 2 3 "
