"""Agents that the measurements command."""

import asyncio
import time
from collections.abc import AsyncIterator

from crossmemory.agents.base import Agent, Output, Text
from crossmemory.memory import Context


class ClockAgent(Agent):
    """Its first token is the wall-clock time at which it says it, in nanoseconds; the rest follows a little later."""

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        yield Text(f"{time.time_ns()} ")
        await asyncio.sleep(0.15)
        yield Text("is when I said this.")


class ReaderAgent(Agent):
    """Writes as many pieces as the question says, each when the one before has been shown."""

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        for number in range(int(context.question)):
            if number:
                await asyncio.sleep(0.08)
            yield Text(f"This is piece {number} of the answer, of about sixty bytes. ")
