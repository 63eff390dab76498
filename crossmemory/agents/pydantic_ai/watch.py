"""Around each request to the model: steers go in, passing trouble is waited out, what is too long shrinks."""

import logging
from asyncio import sleep
from dataclasses import dataclass, field, replace

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import RetryModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext

from crossmemory.agents.base import Note
from crossmemory.agents.pydantic_ai import history
from crossmemory.agents.pydantic_ai.trouble import PASSING, told
from crossmemory.memory import Context, Picture

logger = logging.getLogger("crossmemory.agents")


@dataclass
class Watch(AbstractCapability[Context]):
    """Of one answer. `given` is how many messages at the head of the history are the context's, not the run's own."""

    alias: str
    context: Context
    pictures: list[Picture]
    tools: bool  # whether the agent has any
    given: int
    attempts: int  # of one request, at most
    patience: float  # seconds of waiting in all, at most
    notes: list[Note] = field(default_factory=list)  # not told yet
    waited: float = 0
    shrunk: bool = False
    replaced: bool = False

    async def before_model_request(
        self, ctx: RunContext[Context], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """The person's words since the last request go along with this one, and stay in the run's history."""
        if said := await self.context.take_steers():
            ctx.enqueue(*said)
        return request_context

    async def prepare_model_request(
        self, ctx: RunContext[Context], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if not self.replaced:
            return request_context
        head: list[ModelMessage] = history.rendered(self.context, self.pictures, tools=self.tools)
        return replace(request_context, messages=[*head, *ctx.messages[self.given :]])

    async def on_model_request_error(
        self, ctx: RunContext[Context], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Nothing of this request was shown yet: wait, or shrink, and ask once more. Raises the error otherwise."""
        trouble = told(error)
        if trouble is None:
            raise error
        if trouble.code in PASSING and request_context.attempt < self.attempts:
            seconds = trouble.wait(request_context.attempt)
            if self.waited + seconds <= self.patience:
                self.waited += seconds
                logger.warning("Agent %r: %s; trying again in %.1f s.", self.alias, trouble.code, seconds)
                self.notes.append(Note("waited", {"for": trouble.code, "seconds": round(seconds, 1)}))
                await sleep(seconds)
                raise RetryModelRequest
        if trouble.code == "context_too_long" and not self.shrunk:
            self.shrunk = True
            self.context, gone = history.halved(self.context)
            if gone:
                self._replace(Note("shrunk", {"messages": len(gone)}, left_out=gone))
                raise RetryModelRequest
        if trouble.code == "image" and self.pictures:
            refused = [picture.attachment for picture in self.pictures]
            self.pictures = []
            self._replace(Note("pictures_refused", {"attachments": refused}, attachments=refused))
            raise RetryModelRequest
        raise error

    def _replace(self, note: Note) -> None:
        self.replaced = True
        self.notes.append(note)
