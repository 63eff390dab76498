"""The agent's options and their checks. Nothing here imports an SDK before it is asked to answer."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import weakref
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from django.core.checks import CheckMessage, Error, Warning
from django.utils.module_loading import import_string

from crossmemory.agents.base import Agent, Output
from crossmemory.agents.pydantic_ai.models import KEYS, key_of, split
from crossmemory.agents.tools import Function, imported
from crossmemory.memory import Context

if TYPE_CHECKING:
    from crossmemory.agents.pydantic_ai.speaking import Speaker

Instructions = str | Callable[[Context], str]

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")


class PydanticAIAgent(Agent):
    """A language model. OPTIONS:

    - `model`: `openai:gpt-5.6-luna`, `anthropic:claude-sonnet-5-5`, `google:gemini-3.8-flash`, or what else Pydantic AI
      knows by name; `base_url`: another server that speaks the same; `api_key`: else the provider's environment
      variable is read.
    - `instructions`: a text, or the dotted path of `def instructions(context) -> str`.
    - `tools`: dotted paths of functions; see `crossmemory.agents.tool`.
    - `max_tokens`, `temperature`, and in `settings` any other model setting of Pydantic AI.
    - `timeout`: seconds without a sign of life from the provider; `attempts` of one request and `patience` in seconds,
      for trouble that passes; `steps`: requests of one answer at most.
    - `pictures` of a question at most, each of at most `picture_bytes`. 0: none is sent.
    """

    def __init__(
        self,
        alias: str,
        *,
        model: str,
        base_url: str = "",
        api_key: str = "",
        instructions: Instructions = "",
        tools: Sequence[str | Function] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        settings: dict[str, Any] | None = None,
        timeout: float = 120,
        attempts: int = 4,
        patience: float = 30,
        steps: int = 20,
        pictures: int = 4,
        picture_bytes: int = 5_000_000,
    ) -> None:
        super().__init__(alias)
        self.model = model
        self.base_url = base_url
        self._api_key = api_key
        self._instructions = instructions
        self._tools = tools
        #: the cache holds the stable part: providers that have to be told where it ends are told
        self.settings: dict[str, Any] = {"cache": True, "timeout": timeout, "max_retries": 0, **(settings or {})}
        if max_tokens is not None:
            self.settings["max_tokens"] = max_tokens
        if temperature is not None:
            self.settings["temperature"] = temperature
        self.attempts = attempts
        self.patience = patience
        self.steps = steps
        self.pictures = pictures
        self.picture_bytes = picture_bytes
        # An HTTP client belongs to the event loop that opened its connections.
        self._speakers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Speaker] = weakref.WeakKeyDictionary()

    async def reply(self, context: Context) -> AsyncGenerator[Output, None]:
        from crossmemory.agents.pydantic_ai.speaking import Speaker

        loop = asyncio.get_running_loop()
        speaker = self._speakers.get(loop)
        if speaker is None:
            speaker = self._speakers.setdefault(loop, Speaker(self))
        async with aclosing(speaker.answer(context)) as outputs:
            async for output in outputs:
                yield output

    @property
    def key(self) -> str:
        """The key as it is now: the option, or the environment's."""
        return key_of(split(self.model)[0], self._api_key)

    @property
    def secrets(self) -> Sequence[str]:
        return [key for key in (self._api_key, self.key) if key]

    @property
    def tools(self) -> dict[str, Function]:
        """The functions by name. Raises ImportError, TypeError, ValueError."""
        return imported(self._tools)

    def instructions(self, context: Context) -> str:
        """What the model is told first, the same for every answer unless the site's function says otherwise."""
        found = self._function()
        return found(context) if callable(found) else str(found)

    def _function(self) -> Instructions:
        given = self._instructions
        if isinstance(given, str) and _DOTTED.fullmatch(given):
            found: Instructions = import_string(given)
            return found
        return given

    def check(self) -> list[CheckMessage]:
        name = f"AGENTS[{self.alias!r}]"
        if importlib.util.find_spec("pydantic_ai") is None:
            return [
                Error(
                    f"{name} needs Pydantic AI.",
                    hint="pip install 'django-crossmemory[ai]'",
                    id="crossmemory.E011",
                )
            ]
        found: list[CheckMessage] = []
        try:
            provider, _model = split(self.model)
        except ValueError as error:
            return [Error(f"{name}: {error}", hint="OPTIONS['model'] names both.", id="crossmemory.E012")]
        if provider in KEYS and not self.base_url and not self.key:
            found.append(
                Warning(
                    f"{name}: there is no key for {provider}.",
                    hint=f"Set {' or '.join(KEYS[provider])} in the environment, or OPTIONS['api_key'].",
                    id="crossmemory.W004",
                )
            )
        for what, read in (("tools", lambda: self.tools), ("instructions", self._function)):
            try:
                read()
            except (ImportError, TypeError, ValueError) as error:
                found.append(Error(f"{name}: {error}", hint=f"OPTIONS[{what!r}].", id="crossmemory.E013"))
        return found
