"""A site's own function as the agent: `def reply(context)`, `async def reply(context)` or an async generator."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from typing import Any

from django.core.checks import CheckMessage, Error
from django.utils.module_loading import import_string

from crossmemory.agents.base import Agent, Output, Text
from crossmemory.memory import Context


class CallableAgent(Agent):
    """`OPTIONS: {"FUNCTION": "mysite.assistant.reply"}` (a dotted path, or the function itself).

    The function gets a `crossmemory.memory.Context` and returns the answer as text, or yields it piece by piece. A
    plain `def` runs in a thread of its own and may use the database.
    """

    def __init__(self, alias: str, *, FUNCTION: str | Callable[[Context], Any]) -> None:
        super().__init__(alias)
        self.path = FUNCTION

    @property
    def function(self) -> Callable[[Context], Any]:
        function: Callable[[Context], Any] = import_string(self.path) if isinstance(self.path, str) else self.path
        return function

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        function = self.function
        if inspect.isasyncgenfunction(function):
            async for piece in function(context):
                yield piece if isinstance(piece, Output) else Text(str(piece))
            return
        if inspect.iscoroutinefunction(function):
            answer = await function(context)
        else:
            answer = await asyncio.to_thread(_call, function, context)
        for piece in [answer] if isinstance(answer, str) else answer or []:
            yield piece if isinstance(piece, Output) else Text(str(piece))

    def check(self) -> list[CheckMessage]:
        try:
            function = self.function
        except ImportError as error:
            return [Error(f"AGENTS[{self.alias!r}]: {error}", hint="FUNCTION is a dotted path.", id="crossmemory.E006")]
        if not callable(function):
            return [Error(f"AGENTS[{self.alias!r}]: {self.path} is not callable.", id="crossmemory.E006")]
        return []


def _call(function: Callable[[Context], Any], context: Context) -> Any:
    """In a thread: whatever the function reads, its connections do not stay open."""
    from django.db import close_old_connections, connections

    close_old_connections()
    try:
        answer = function(context)
        return answer if isinstance(answer, str) else list(answer or [])
    finally:
        connections.close_all()
