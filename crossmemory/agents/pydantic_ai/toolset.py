"""From a site's functions to tools that a model can call."""

import asyncio
import functools
import inspect
import logging
from typing import Any, get_type_hints

from pydantic_ai import ModelRetry, RunContext, Tool, ToolFailed, ToolReturn

from crossmemory.agents.tools import Function, Unkept, policy_of
from crossmemory.memory import Context

logger = logging.getLogger("crossmemory.agents")


def made(functions: dict[str, Function]) -> list[Tool[Context]]:
    """Tools for Pydantic AI: name, description and arguments come from the function's signature and docstring."""
    return [
        Tool(adapted(function), takes_ctx=True, name=name, requires_approval=policy_of(function).requires_approval)
        for name, function in functions.items()
    ]


def adapted(function: Function) -> Function:
    """The function as a coroutine that takes Pydantic AI's RunContext first.

    A first parameter annotated with `Context` gets what the agent was given, and with it whose conversation it is. A
    plain `def` runs in a thread and may use the database. When it raises, the model is told that it failed, and the log
    how; with `pydantic_ai.ModelRetry` it says to the model what to do better.
    """
    hints = get_type_hints(function)
    signature = inspect.signature(function)
    parameters = list(signature.parameters.values())
    wants_context = bool(parameters) and hints.get(parameters[0].name) is Context
    if wants_context:
        hints.pop(parameters.pop(0).name)

    @functools.wraps(function)
    async def call(run: RunContext[Context], *args: Any, **kwargs: Any) -> Any:
        given = (run.deps, *args) if wants_context else args
        try:
            if inspect.iscoroutinefunction(function):
                return _told(await function(*given, **kwargs))
            return _told(await asyncio.to_thread(_in_thread, function, *given, **kwargs))
        except (ModelRetry, ToolFailed):
            raise
        except Exception as error:
            logger.exception(
                "Agent %r: the tool %s failed.", run.deps.owner and run.deps.owner.agent, function.__name__
            )
            raise ToolFailed(f"The tool failed: {type(error).__name__}.") from error

    first = inspect.Parameter("run", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=RunContext[Context])
    del call.__wrapped__  # its signature would be read instead of this one
    call.__signature__ = signature.replace(parameters=[first, *parameters])  # type: ignore[attr-defined]
    call.__annotations__ = {**hints, "run": RunContext[Context]}
    return call


def _told(result: Any) -> Any:
    return ToolReturn(result.shown, metadata=result) if isinstance(result, Unkept) else result


def _in_thread(function: Function, *args: Any, **kwargs: Any) -> Any:
    """Whatever the function reads, its connections do not stay open."""
    from django.db import close_old_connections, connections

    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        connections.close_all()
