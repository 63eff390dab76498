"""What a site says about its function as a tool: whether it asks for permission first, where, how fresh the sign-in."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.utils.functional import Promise
from django.utils.module_loading import import_string

from crossmemory.turns import Request

Function = Callable[..., Any]
F = TypeVar("F", bound=Function)
Title = str | Promise | Callable[..., str]

_ATTRIBUTE = "crossmemory_policy"


@dataclass(frozen=True, slots=True)
class Policy:
    """How a tool may be used. See `tool`."""

    requires_approval: bool = False
    title: Title | None = None
    surfaces: Sequence[str] | None = None
    fresh_sign_in: int | None = None
    expires_in: float | None = None

    def request(self, name: str, arguments: Mapping[str, Any]) -> Request:
        """What the person is asked before the tool is used."""
        title = self.title(**arguments) if callable(self.title) else self.title
        return Request(
            name,
            dict(arguments),
            title=str(title or ""),
            surfaces=self.surfaces,
            fresh_sign_in=self.fresh_sign_in,
            expires_in=self.expires_in,
        )


def tool(
    *,
    requires_approval: bool = False,
    title: Title | None = None,
    surfaces: Sequence[str] | None = None,
    fresh_sign_in: int | None = None,
    expires_in: float | None = None,
) -> Callable[[F], F]:
    """Mark a function as a tool that asks first.

    `title` is what people read (a text, or a function of the arguments); `surfaces` where it may be decided;
    `fresh_sign_in` and `expires_in` are seconds. All but `title` say nothing without `requires_approval`.
    """
    policy = Policy(requires_approval, title, surfaces, fresh_sign_in, expires_in)

    def mark(function: F) -> F:
        setattr(function, _ATTRIBUTE, policy)
        return function

    return mark


def policy_of(function: Function) -> Policy:
    """The policy of a tool; without a mark it is used freely."""
    policy: Policy = getattr(function, _ATTRIBUTE, Policy())
    return policy


@dataclass(frozen=True, slots=True)
class Unkept:
    """What a tool returns that the model reads and nobody stores, since it is stored elsewhere already: the words of
    other messages, which may be deleted there. `kept` (JSON) stands in the log, and in later answers, instead."""

    shown: Any
    kept: Any


def imported(tools: Sequence[str | Function]) -> dict[str, Function]:
    """The functions by the names that the model calls them by. Raises ImportError, TypeError, ValueError."""
    found: dict[str, Function] = {}
    for each in tools:
        function = import_string(each) if isinstance(each, str) else each
        if not callable(function):
            raise TypeError(f"{each} is not callable.")
        name = function.__name__
        if found.setdefault(name, function) is not function:
            raise ValueError(f"Two tools are called {name!r}.")
    return found
