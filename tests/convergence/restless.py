"""An agent that does everything agents do, decided by what it is asked."""

import asyncio
from collections.abc import AsyncIterator

from crossmemory.agents.base import Agent, NeedsApproval, Output, Request, Text, ToolDone, ToolUse
from crossmemory.memory import Context


class RestlessAgent(Agent):
    """The last character of the question says what comes: a tool, a request, a failure, an answer, long or short."""

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        if context.decisions:
            for decided in context.decisions:
                yield ToolDone(decided.id, {"done": decided.approved})
            yield Text("So be it.")
            return
        wish = context.question[-1:]
        if wish == "t":
            yield ToolUse("k", "look", {"for": context.question})
            yield ToolDone("k", "nothing")
        if wish == "a":
            yield Text("May I?")
            yield NeedsApproval([Request("ring", {"times": 3}, title="Ring?")])
            return
        for number in range(60 if wish == "l" else 6):
            yield Text(f"{number} é🙂 " * 12)
            await asyncio.sleep(0.02)
            await context.take_steers()
        if wish == "f":
            raise RuntimeError("It went wrong.")
