"""Carrying out one run: claim, load, stream, finish. What can fail degrades; it does not drop the reply."""

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator, Collection
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import attachments, db, linking, log, memory, outbox, turns
from crossmemory.agents import AgentError, NeedsApproval, Note, Output, Text, ToolDone, ToolUse, Usage, agents
from crossmemory.agents.secrets import hide
from crossmemory.clean import clean, is_blank
from crossmemory.conf import settings
from crossmemory.events import Actor
from crossmemory.exceptions import Fenced
from crossmemory.memory import Context, Picture
from crossmemory.memory.context import question_of
from crossmemory.models import Message, Run
from crossmemory.runs import cards, lateness
from crossmemory.runs.storing import DATABASE_GONE, stored
from crossmemory.runs.usage import added
from crossmemory.surfaces import surfaces
from crossmemory.turns.moves import owner_of

logger = logging.getLogger(__name__)


class Stopped(Exception):
    """The person asked the run to stop."""


async def claim_waiting(worker: str, limit: int, older_than: float = 0, in_hand: Collection[int] = ()) -> list[Run]:
    """Claim at most `limit` runs that wait in the database, none of those `in_hand`; the caller executes each."""
    claimed = []
    for run_id in (await turns.aclaimable(older_than, in_hand))[:limit]:
        run = await turns.aclaim(run_id, worker, outgoing)
        if run is not None:
            claimed.append(run)
    return claimed


def outgoing(run: Run, message: Message | None, text: str) -> None:
    """Write what goes back to where it was asked, in the transaction that moves the run."""
    destination = run.destination
    if not destination or linking.ended(owner_of(run), destination["surface"], destination.get("account", "")):
        return
    surface = surfaces[destination["surface"]]
    if message is not None and (late := lateness.preface(run)):
        text = f"{late}\n\n{text}"
    pieces = [{"text": piece.text, **piece.payload} for piece in surface.render(text)]
    outbox.write(destination, pieces, conversation=run.conversation, message=message)


async def run_waiting(worker: str) -> int:
    """Claim and execute what waits, one by one; returns how many. For runners that a queue wakes."""
    done = 0
    while claimed := await claim_waiting(worker, 1):
        await execute(claimed[0])
        done += 1
    return done


async def execute(run: Run) -> None:
    """Carry out a claimed run to one of its ends. Never raises but when cancelled: then the lease runs out."""
    try:
        await _Execution(run).go()
    except Fenced:
        logger.warning("Run %s was taken over by somebody else; nothing more is written here.", run.uid)
    except Exception:
        logger.exception("Run %s could not be brought to an end here.", run.uid)


class _Execution:
    """The state of one run while it is carried out: what was written, and what was stored of it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.streams = surfaces[run.conversation.surface].streams
        self.previews = surfaces[run.conversation.surface].previews and run.conversation.singleton
        self.previewed = ""  # what of the text may have been shown before it is a message
        self.context: Context | None = None
        self.message: Message | None = None
        self.text = ""  # all that the agent has said
        self.stored = 0  # code points of it that are committed
        self.usage: dict[str, Any] | None = run.usage  # of all its parts so far
        self.seen = 0  # key of the newest message that the agent has been given
        self.taken: list[int] = []  # keys of those that it took between two steps
        self.began = time.monotonic()
        self.tools: dict[str, str] = {}  # the agent's keys of its tool calls: ours
        self.asks: NeedsApproval | None = None
        self.error = ""  # why earlier messages could not be read

    async def go(self) -> None:
        self.context = await self._load()
        with translation.override(self.context.language):
            try:
                async with asyncio.timeout(settings.RUN_TIMEOUT_SECONDS):
                    await self._answer()
            except Stopped:
                if self.previewed:  # the person has seen some of it: it stays, and says that it was stopped
                    await self._show()
                await stored(self.run, turns.astop, self.run, self.message, Actor("user"), outgoing, usage=self.usage)
            except AgentError as error:
                await self._fail(error.code, error.detail, error, refused=error.refused)
            except TimeoutError as error:
                await self._fail("timeout", _("The answer took too long. Please try again."), error)
            except Fenced:
                raise
            except Exception as error:
                await self._fail(
                    "agent_error", _("Something went wrong while I was answering. Please try again."), error
                )
            else:
                await (self._ask(self.asks) if self.asks else self._finish())

    async def _load(self) -> Context:
        """The context; without history when it cannot be read, and then the run and the answer say so."""
        try:
            context = await memory.abuild_context(
                self.run.conversation, trigger=self.run.trigger, resumed=self.run.tools_called
            )
        except Exception as trouble:
            logger.exception("Run %s: earlier messages could not be read; answering without them.", self.run.uid)
            self.error = repr(trouble)
            question = await stored(self.run, db.twin(question_of), self.run)
            context = memory.without_history(self.run.conversation, question)
        await self._record(context)
        # What was said since the claim and stands in the context is taken with it: it is not answered twice.
        await stored(self.run, turns.atake_steers, self.run, {message.id for message in context.messages})
        decided = await stored(self.run, turns.adecisions, self.run) if self.run.tools_called else ()
        self.seen = max((message.id for message in context.messages), default=0)
        state = self.run.agent_state or {}
        self.taken = list(state.get("taken", ()))
        return replace(
            context,
            decisions=decided,
            state=state.get("agent"),
            asked_until=state.get("until", 0),
            taken=frozenset(self.taken),
            take_steers=self._take_steers,
            load_pictures=self._load_pictures,
        )

    async def _record(self, context: Context) -> None:
        """The manifest: what the agent is about to see."""
        await stored(
            self.run,
            turns.anote_context,
            self.run,
            context.manifest.as_json(),
            context.window_start,
            context.recent_start,
            degraded=context.missing,
            error=self.error,
        )

    async def _take_steers(self) -> list[str]:
        try:
            steers = await turns.atake_steers(self.run)
        except DATABASE_GONE as error:  # the answer goes on; what was said is heard later, or answered next
            logger.warning("Run %s: steers could not be read: %r", self.run.uid, error)
            return []
        self.taken += [message.pk for message in steers]
        self.seen = max([self.seen, *self.taken])
        return [message.text for message in steers]

    async def _load_pictures(self, most: int, most_bytes: int) -> list[Picture]:
        """Of the words that have to be answered; without those that cannot be read."""
        asked = [message.id for message in self.context.asked] if self.context else []
        if not most or not asked:
            return []
        found = await stored(self.run, attachments.apictures, self.run.conversation_id, asked, most, most_bytes)
        return [Picture(str(row.uid), row.mime, content) for row, content in found]

    async def _answer(self) -> None:
        """Stream the agent's answer while the lease is held; raises Stopped, Fenced, and what the agent raises."""
        speaking = asyncio.create_task(self._speak())
        holding = asyncio.create_task(self._hold())
        try:
            await asyncio.wait([speaking, holding], return_when=asyncio.FIRST_COMPLETED)
            if holding.done():
                holding.result()  # raises Stopped or Fenced
            await speaking
        finally:
            for task in (speaking, holding):
                task.cancel()
            await asyncio.gather(speaking, holding, return_exceptions=True)

    async def _speak(self) -> None:
        assert self.context is not None
        agent = agents[self.run.agent]
        written = 0.0
        outputs: AsyncIterator[Output] = agent.reply(self.context)
        async with aclosing(outputs) as outputs:  # type: ignore[type-var]
            async for output in outputs:
                match output:
                    case Usage():
                        self.usage = added(self.usage, output.values)
                    case Note():
                        await self._note(output)
                    case Text():
                        if not self.text:
                            first = round(time.monotonic() - self.began, 3)
                            self.usage = added(self.usage, {"first_text_seconds": first})
                        self.text += clean(output.text)
                        if self.streams and time.monotonic() - written >= settings.DELTA_SECONDS:
                            await self._show()
                            written = time.monotonic()
                    case ToolUse():
                        await self._use(output)
                    case ToolDone():
                        uid = self.tools.get(output.key, output.key)
                        await stored(self.run, turns.afinish_tool, self.run, uid, output.result, output.error)
                    case NeedsApproval():
                        self.asks = output
                        return

    async def _note(self, note: Note) -> None:
        """Trouble that the answer survived: for staff, and for what the manifest says that the model saw."""
        assert self.context is not None
        logger.warning("Run %s: %s %s", self.run.uid, note.code, note.facts)
        manifest = self.context.manifest.noted(note.code, note.facts, note.left_out)
        self.context = replace(self.context, manifest=manifest)
        await self._record(self.context)
        if note.attachments:
            await stored(self.run, attachments.arefuse, self.run.conversation_id, note.attachments)

    async def _use(self, tool: ToolUse) -> None:
        """Say that a tool is used, after what was said before it."""
        await self._show()
        call = await stored(self.run, turns.acall_tool, self.run, tool.name, tool.arguments)
        self.tools[tool.key] = str(call.uid)

    async def _ask(self, asks: NeedsApproval) -> None:
        """The run waits for the person; what was said so far is a message of its own."""
        await stored(
            self.run,
            turns.aawait_approval,
            self.run,
            self.message,
            self.text.strip(),
            asks.requests,
            {"agent": asks.state, "until": self.seen, "taken": self.taken},
            saw=self._saw(),
            outgoing=outgoing,
            asking=cards.ask,
            usage=self.usage,
        )

    async def _show(self) -> None:
        """Store what was said since the last time, so that it may be shown; trouble with it is for the end."""
        piece = self.text[self.stored :]
        if not piece or (self.message is None and is_blank(piece)):
            return
        try:
            if self.message is None:
                self.message = await turns.abegin_answer(self.run, self._saw(), self.text)
            else:
                await db.run(log.write, self.message, self.run, self.stored, piece)
            self.stored += len(piece)
        except DATABASE_GONE as error:
            logger.warning("Run %s: a piece could not be stored yet: %r", self.run.uid, error)

    async def _hold(self) -> None:
        """Renew the lease until cancelled. Raises Stopped or Fenced; the database's absence is waited out."""
        pause = min(1.0, settings.RUN_LEASE_SECONDS / 4)
        while True:
            await asyncio.sleep(pause)
            try:
                self.previewed = self.text if self.previews else ""
                if await turns.arenew(self.run, self.previewed):
                    raise Stopped
            except DATABASE_GONE as error:
                logger.warning("Run %s: the lease could not be renewed yet: %r", self.run.uid, error)

    async def _finish(self) -> None:
        text = self.text.strip()
        if is_blank(text):
            text = _("I have no answer to that.")
        await stored(
            self.run,
            turns.acomplete,
            self.run,
            self.message,
            text,
            saw=self._saw(),
            degraded=self.context.missing if self.context else False,
            usage=self.usage,
            outgoing=outgoing,
        )

    async def _fail(self, code: str, detail: str, error: BaseException, refused: Collection[int] = ()) -> None:
        secrets = agents[self.run.agent].secrets if self.run.agent in agents else ()
        logger.error("Run %s failed: %s", self.run.uid, hide(repr(error), secrets))
        trace = hide("".join(traceback.format_exception(error)), secrets)
        await self._show()
        await stored(
            self.run,
            turns.afail,
            self.run,
            self.message,
            code,
            detail,
            trace,
            outgoing,
            usage=self.usage,
            refused=refused,
        )

    def _saw(self) -> dict[str, Any]:
        return self.context.manifest.summary() if self.context else {}
