"""One answer: the context goes in, the model's events come out as what a run understands."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pydantic_ai import Agent, AgentRunResultEvent, DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.agent import AgentRunEvents
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    FunctionToolCallEvent,
    FunctionToolResultEvent,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import UsageLimits
from pydantic_core import to_jsonable_python

from crossmemory.agents.base import AgentError, NeedsApproval, Note, Output, Text, ToolDone, ToolUse, Usage
from crossmemory.agents.pydantic_ai import costs, history, toolset
from crossmemory.agents.pydantic_ai.history import PICTURES, Resumed
from crossmemory.agents.pydantic_ai.models import connect
from crossmemory.agents.pydantic_ai.trouble import Trouble, told
from crossmemory.agents.pydantic_ai.watch import Watch
from crossmemory.agents.tools import Unkept, policy_of
from crossmemory.memory import Context
from crossmemory.memory.render import NOT_DONE

if TYPE_CHECKING:
    from crossmemory.agents.pydantic_ai.agent import PydanticAIAgent

logger = logging.getLogger("crossmemory.agents")

MISSING = "Earlier messages could not be read just now. Say so where it matters."


class Speaker:
    """A model with its client and tools, in one event loop."""

    def __init__(self, agent: PydanticAIAgent) -> None:
        self.agent = agent
        self.functions = agent.tools
        self.model: Model = connect(agent.model, agent.base_url, agent.key)
        self.tools = toolset.made(self.functions)

    async def answer(self, context: Context) -> AsyncGenerator[Output, None]:
        """The answer; asked without what came before when the provider refuses the whole, and says that it did."""
        answer = _Answer(self, context)
        try:
            async with contextlib.aclosing(answer.spoken()) as outputs:
                async for output in outputs:
                    yield output
        except AgentError as error:
            shorter, gone = history.alone(context)
            if error.code != "refused" or answer.said or context.state is not None or not gone:
                raise
            logger.warning("Agent %r: refused with what came before; asking the question alone.", self.agent.alias)
        else:
            return
        yield Note("history_refused", {"messages": len(gone)}, left_out=gone)
        async with contextlib.aclosing(_Answer(self, shorter).spoken()) as outputs:
            async for output in outputs:
                yield output


class _Answer:
    """The state of one attempt at an answer."""

    def __init__(self, speaker: Speaker, context: Context) -> None:
        self.speaker = speaker
        self.agent = speaker.agent
        self.context = context
        self.said = False  # anything, be it words or a tool that was used
        self.wrote = False  # words
        self.used: dict[str, str] = {}  # the model's keys of tool calls that run: ours
        self.given: list[ModelMessage] = []  # the context as a history
        self.resumed: Resumed | None = None

    async def spoken(self) -> AsyncGenerator[Output, None]:
        context = self.context
        self.resumed = None if context.state is None else Resumed.of(context.state)
        pictures = await context.load_pictures(self.agent.pictures, self.agent.picture_bytes)
        pictures = [picture for picture in pictures if picture.mime in PICTURES]
        before = history.seen(context) if self.resumed else context
        self.given = history.rendered(before, pictures, tools=bool(self.speaker.functions))
        if not self.given or not isinstance(self.given[-1], ModelRequest):
            return  # what was asked is deleted, or answered: a model is not asked to answer itself
        tools = bool(self.speaker.functions)
        watch = Watch(
            self.agent.alias, before, pictures, tools, len(self.given), self.agent.attempts, self.agent.patience
        )
        async with self._run(watch) as events, contextlib.aclosing(_read(events)) as read:
            try:
                async for event in read:
                    for output in (*self._outputs(event), *_taken(watch.notes)):
                        yield output
                    if isinstance(event, AgentRunResultEvent):
                        yield self._cost(events)
                        if isinstance(event.result.output, DeferredToolRequests):
                            yield self._asks(event.result.output, self._new(events))
                        else:
                            self._check_end(self._new(events))
            except AgentError:
                raise
            except Exception as error:
                for note in _taken(watch.notes):
                    yield note
                yield self._cost(events)
                raise self._meant(error) from error

    def _run(self, watch: Watch) -> AbstractAsyncContextManager[AgentRunEvents[str | DeferredToolRequests]]:
        context, resumed = self.context, self.resumed
        instructions = self.agent.instructions(context)
        if context.missing:
            instructions = f"{instructions}\n\n{MISSING}".strip()
        return Agent(
            self.speaker.model,
            instructions=instructions or None,
            tools=self.speaker.tools,
            output_type=[str, DeferredToolRequests],
            deps_type=Context,
            capabilities=[watch],
            name=self.agent.alias,
        ).run_stream_events(
            (history.said_since(context) or None) if resumed else None,
            message_history=[*self.given, *(resumed.messages if resumed else ())],
            deferred_tool_results=self._decided(resumed) if resumed else None,
            deps=context,
            model_settings=ModelSettings(**self.agent.settings),  # type: ignore[typeddict-item]
            usage_limits=UsageLimits(request_limit=self.agent.steps),
        )

    def _new(self, events: AgentRunEvents[Any]) -> Sequence[ModelMessage]:
        """What the model and the tools have said since the question."""
        try:
            return events.all_messages()[len(self.given) :]
        except UserError:  # it failed before it began
            return ()

    def _cost(self, events: AgentRunEvents[Any]) -> Usage:
        """Of this part of the run: what came before it asked for permission was counted then."""
        new = self._new(events)[len(self.resumed.messages) if self.resumed else 0 :]
        return Usage(costs.counted(self.agent.model, new))

    def _outputs(self, event: Any) -> Sequence[Output]:
        match event:
            case PartStartEvent(part=TextPart(content=content)):
                # What is said after a tool was used is a paragraph of its own.
                apart = self.wrote and event.previous_part_kind != "text"
                return self._text(f"\n\n{content}" if apart else content)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=content)):
                return self._text(content)
            case FunctionToolCallEvent(part=part):
                return self._use(part, event.args_valid)
            case FunctionToolResultEvent(part=result):
                key = self.used.pop(result.tool_call_id, None)
                if key is None:
                    return ()
                if result.outcome == "success":
                    unkept = result.metadata if isinstance(result.metadata, Unkept) else None
                    kept = unkept.kept if unkept else result.content
                    return (ToolDone(key, to_jsonable_python(kept, fallback=str)),)
                return (ToolDone(key, error=result.model_response_str()),)
        return ()

    def _text(self, content: str) -> Sequence[Output]:
        self.said = self.said or bool(content)
        self.wrote = self.wrote or bool(content.strip())
        return (Text(content),) if content else ()

    def _use(self, call: ToolCallPart, valid: bool | None) -> Sequence[Output]:
        """A call that runs now: one that needs permission is told of when it is asked for, or has been told of."""
        key = call.tool_call_id
        self.said = True
        if valid is None or key in self.used:
            return ()
        function = self.speaker.functions.get(call.tool_name)
        if function is not None and policy_of(function).requires_approval:
            return ()
        self.used[key] = key
        return (ToolUse(key, call.tool_name, _arguments(call)),)

    def _asks(self, asked: DeferredToolRequests, new: Sequence[ModelMessage]) -> NeedsApproval:
        """Ends here until the person has decided about each call, in this order."""
        requests = [
            policy_of(self.speaker.functions[call.tool_name]).request(call.tool_name, _arguments(call))
            for call in asked.approvals
        ]
        return NeedsApproval(requests, Resumed.state(new))

    def _decided(self, resumed: Resumed) -> DeferredToolResults:
        """The decisions about the calls that the state ends with; they come in the order they were asked in."""
        results = DeferredToolResults()
        open_calls = _open(resumed.messages)
        for call, decided in zip(open_calls, self.context.decisions[-len(open_calls) :], strict=False):
            if decided.approved:
                results.approvals[call.tool_call_id] = ToolApproved()
                self.used[call.tool_call_id] = decided.id
            else:
                results.approvals[call.tool_call_id] = ToolDenied(NOT_DONE.get(decided.decision, NOT_DONE["denied"]))
        return results

    def _check_end(self, new: Sequence[ModelMessage]) -> None:
        """Raise AgentError where an answer ended for a reason that nobody should take for its end."""
        last = new[-1] if new else None
        if isinstance(last, ModelResponse) and last.finish_reason == "content_filter":
            raise self._error(Trouble("refused"))

    def _meant(self, error: Exception) -> Exception:
        trouble = told(error)
        if trouble is None:
            return error
        if self.wrote and trouble.code in ("connection", "provider_error", "overloaded", "timeout"):
            trouble = replace(trouble, code="broken_off")
        return self._error(trouble)

    def _error(self, trouble: Trouble) -> AgentError:
        refused = [message.id for message in self.context.asked] if trouble.code == "refused" else []
        return AgentError(trouble.code, trouble.line, refused)


def _arguments(call: ToolCallPart) -> dict[str, Any]:
    return call.args_as_dict()


def _open(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """The calls at the end of a run that have no result yet."""
    responses = [message for message in messages if isinstance(message, ModelResponse)]
    answered = {part.tool_call_id for message in messages for part in message.parts if part.part_kind == "tool-return"}
    return [call for call in (responses[-1].tool_calls if responses else ()) if call.tool_call_id not in answered]


async def _read(events: AgentRunEvents[Any]) -> AsyncGenerator[Any, None]:
    """The events, read as soon as they are there, however long the reader takes.

    A run that is torn down while it hands an event over leaves google-genai's connection open until the provider has
    said everything; one that waits for the provider does not.
    """
    queue: asyncio.Queue[Any] = asyncio.Queue()

    async def pump() -> None:
        try:
            async for event in events:
                queue.put_nowait(event)
        finally:
            queue.put_nowait(None)

    task = asyncio.create_task(pump())
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task  # raises what the run raised
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _taken(notes: list[Note]) -> list[Note]:
    taken, notes[:] = list(notes), []
    return taken
