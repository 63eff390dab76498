"""The demo's assistants: one that only recalls, rings a bell if it may, and counts; and what a real model is given."""

import asyncio
import re
from collections.abc import AsyncIterator

from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crossmemory.agents import NeedsApproval, Output, Request, Text, ToolDone, tool
from crossmemory.agents.recall import RecallAgent
from crossmemory.memory import Context

_BELL = re.compile(r"\b(bell|campana)\b", re.IGNORECASE)
_COUNT = re.compile(r"\b(?:count to|cuenta hasta)\s+(\d{1,2})\b", re.IGNORECASE)


INSTRUCTIONS = """\
You are the assistant of a small harbour's site. People talk to you on the web and on their phone; you remember both.
Answer briefly, in the language of the person. What was said later counts more than what was said earlier, wherever it
was said. When you do not know something, say so. You have one tool: the harbour bell, which the person must allow."""


@tool(requires_approval=True, title=gettext_lazy("Ring the harbour bell?"))
def ring_bell(times: int = 3) -> dict[str, int]:
    """Ring the harbour bell.

    Args:
        times: how often it sounds.
    """
    return {"rung": times}


class HarbourAgent(RecallAgent):
    """RecallAgent with one harmless tool that needs approval, and one long answer that can be steered."""

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        with translation.override(context.language):
            if context.decisions or _BELL.search(context.question):
                answer = self._bell(context)
            elif counted := _COUNT.search(context.question):
                answer = self._count(context, int(counted[1]))
            else:
                answer = super().reply(context)
            async for output in answer:
                yield output

    async def _bell(self, context: Context) -> AsyncIterator[Output]:
        if not context.decisions:
            yield Text(_("I would ring the harbour bell three times. May I?"))
            yield NeedsApproval([Request("ring_bell", {"times": 3}, title=_("Ring the harbour bell?"))])
            return
        decided = context.decisions[-1]
        if decided.approved:
            yield ToolDone(decided.id, {"rung": decided.arguments["times"]})
            yield Text(_("Ding, ding, ding. The bell has been rung."))
        else:
            yield Text(_("Then the bell stays quiet."))

    async def _count(self, context: Context, until: int) -> AsyncIterator[Output]:
        for number in range(1, until + 1):
            yield Text(f"{number} ")
            for words in await context.take_steers():
                yield Text(_("(You say: “%(words)s”. I heard it.) ") % {"words": words})
            await asyncio.sleep(self.pace * 10)
