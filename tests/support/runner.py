"""Runners and agents that tests command."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from crossmemory.runs import Runner
from crossmemory.testing.agents import ScriptedAgent

__all__ = ["ManualRunner", "ScriptedAgent", "eventually", "slowly"]


class ManualRunner(Runner):
    """Does nothing by itself: a test calls `engine.run_waiting` when it wants the answer."""

    def wake(self, after: float = 0) -> None:
        pass


async def slowly(*pieces: str, pause: float = 0.05) -> AsyncIterator[str]:
    """A script that yields pieces with pauses."""
    for piece in pieces:
        yield piece
        await asyncio.sleep(pause)


async def eventually(ask: Callable[[], Awaitable[Any]], seconds: float = 10) -> Any:
    """Ask again and again until the answer is true; the last answer after `seconds`."""
    until = asyncio.get_running_loop().time() + seconds
    while not (answer := await ask()) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.02)
    return answer
