"""The server process that the fault tests start and kill."""

import asyncio
import os
from collections.abc import AsyncIterator

from django.core.asgi import get_asgi_application

from crossmemory.asgi import with_crossmemory

application = with_crossmemory(get_asgi_application())

# Models need Django set up, and the line above does that.
from django.urls import include, path  # noqa: E402

from crossmemory.agents.base import Agent, Output, Text  # noqa: E402
from crossmemory.memory import Context  # noqa: E402

urlpatterns = [path("api/crossmemory/", include("crossmemory.api.urls"))]


class SlowAgent(Agent):
    """Counts to forty, WORD_SECONDS a word."""

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        for number in range(1, 41):
            yield Text(f"{number} ")
            await asyncio.sleep(float(os.environ.get("WORD_SECONDS", "0.1")))
