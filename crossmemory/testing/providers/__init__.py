"""Offline models of the request rules of OpenAI (chat and responses), Anthropic and Gemini.

`refusals(body)` of a provider takes a request as it goes over the wire and returns what the provider would answer 400
to, each with the page that says so; an empty list: accepted. `request(turns)` makes such a body of provider-neutral
turns. So a site can ask, without a network and in milliseconds, whether the histories that its agent sends are taken:

    from crossmemory.testing import providers

    assert providers.refusals("anthropic", body) == []

They model what histories break: roles, the first and the last turn, tools and their results, blanks, names, sizes.
Whether a model exists, and what one model allows and another does not, they do not know; where models of a provider
differ, the stricter one counts.
"""

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from crossmemory.memory import Turn
from crossmemory.testing.providers import anthropic, gemini, openai_chat, openai_responses
from crossmemory.testing.providers.base import Refusal

PROVIDERS: Mapping[str, ModuleType] = {
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
}


def refusals(provider: str, body: Any) -> list[Refusal]:
    """Why the provider would refuse this request; empty: it is accepted. Raises KeyError."""
    check: Callable[[Any], list[Refusal]] = PROVIDERS[provider].refusals
    return check(body)


def request(provider: str, turns: Sequence[Turn], instructions: str = "", tools: Sequence[str] = ()) -> dict[str, Any]:
    """A request of repaired turns. `tools`: names of tools to declare besides those that the turns use."""
    make: Callable[..., dict[str, Any]] = PROVIDERS[provider].request
    named = dict.fromkeys([*tools, *(call.name for turn in turns for call in turn.calls)])
    return make(turns, instructions, list(named))


__all__ = ["PROVIDERS", "Refusal", "refusals", "request"]
