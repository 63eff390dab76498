"""An agent that says what a test wants, and the contract that every agent keeps. Subclass that in a site's own tests:

class TestMyAgent(AgentContract):
    def make(self) -> Agent:
        return agents["default"]
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from typing import Any, ClassVar

from crossmemory.agents import Agent, AgentError, Output, Text
from crossmemory.memory import Context, Manifest, Remembered


def said(
    text: str, *, key: int = 1, role: str = "user", own: bool = True, surface: str = "web", turn: int | None = None
) -> Remembered:
    """One message as memory hands it to an agent."""
    return Remembered(
        id=key,
        conversation_id=1 if own else 2,
        seq=key,
        turn=key if turn is None else turn,
        role=role,
        text=text,
        surface=surface,
        label=surface.capitalize(),
        at=datetime(2026, 11, 30, 10, key % 60, tzinfo=UTC),
        own=own,
    )


def context(*messages: Remembered, missing: bool = False, language: str = "en") -> Context:
    """A context of these messages."""
    return Context(list(messages), Manifest(used=messages, missing=missing), language=language)


async def collect(agent: Agent, given: Context) -> tuple[str, list[Output]]:
    """The whole answer, and the pieces it came in."""
    pieces = [piece async for piece in agent.reply(given)]
    return "".join(piece.text for piece in pieces if isinstance(piece, Text)), pieces


class ScriptedAgent(Agent):
    """Says what the test sets as `ScriptedAgent.script`, an async generator of outputs or plain texts that gets the
    context; without one, it repeats the question. Keeps the contexts it was given: `forget` begins anew."""

    script: ClassVar[Callable[[Context], AsyncIterator[Any]] | None] = None
    contexts: ClassVar[list[Context]] = []

    @classmethod
    def forget(cls) -> None:
        cls.script, cls.contexts = None, []

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        type(self).contexts.append(context)
        script = type(self).script
        if script is None:
            yield Text("answer to ")
            yield Text(context.question)
            return
        async for output in script(context):
            yield Text(output) if isinstance(output, str) else output


class AgentContract:
    """What a run relies on, whatever the agent."""

    def make(self) -> Agent:
        """The agent under test."""
        raise NotImplementedError

    async def test_it_answers_in_pieces_of_text(self) -> None:
        answer, pieces = await collect(self.make(), context(said("Hello, who are you?")))
        assert answer.strip()
        assert all(isinstance(piece, Output) for piece in pieces)

    async def test_it_answers_with_history_of_every_kind(self) -> None:
        history = [
            said("said elsewhere", key=1, own=False, surface="telegram"),
            said("answered elsewhere", key=2, role="assistant", own=False, surface="telegram", turn=1),
            said("first", key=3),
            said("second", key=4),
            said("an answer", key=5, role="assistant", turn=3),
            said("x" * 10_000, key=6),
            said("\N{FAMILY} ‮ \ufffd", key=7),
            said("And now?", key=8),
        ]
        answer, _ = await collect(self.make(), context(*history))
        assert answer.strip()

    async def test_it_answers_when_history_is_missing(self) -> None:
        answer, _ = await collect(self.make(), context(said("What did I say?"), missing=True))
        assert answer.strip()

    async def test_it_can_be_stopped_at_any_piece(self) -> None:
        answer = self.make().reply(context(said("Tell me everything you remember?")))
        await anext(answer)
        task = asyncio.ensure_future(anext(answer, None))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await answer.aclose()  # type: ignore[attr-defined]

    async def test_answers_at_the_same_time_do_not_mix(self) -> None:
        agent = self.make()
        one = context(
            said("My cat is called Milo.", key=1), said("ok", key=2, role="assistant", turn=1), said("My cat?", key=3)
        )
        two = context(
            said("My dog is called Rex.", key=1), said("ok", key=2, role="assistant", turn=1), said("My dog?", key=3)
        )
        answers = await asyncio.gather(*(collect(agent, given) for given in (one, two) * 5))
        assert not any("Rex" in answer for answer, _ in answers[::2])
        assert not any("Milo" in answer for answer, _ in answers[1::2])

    def test_its_checks_pass(self) -> None:
        assert self.make().check() == []


__all__ = ["AgentContract", "AgentError", "ScriptedAgent", "collect", "context", "said"]
