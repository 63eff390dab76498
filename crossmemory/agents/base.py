"""The interface behind which every agent stands."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.checks import CheckMessage

from crossmemory.memory import Context
from crossmemory.turns import Decided, Request


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the answer cost: `{"input_tokens": …, "output_tokens": …}` and whatever else the provider says."""

    values: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The agent uses a tool. `key` is the agent's own name for this call; `ToolDone` repeats it."""

    key: str
    name: str
    arguments: Any = None


@dataclass(frozen=True, slots=True)
class ToolDone:
    """What came of a tool: of a `ToolUse` (its key), or of an approved request (`Decided.id`)."""

    key: str
    result: Any = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class NeedsApproval:
    """The agent asks before it uses tools, and ends here. Once all is decided, it is called again with
    `context.decisions`, and `state` (JSON) as `context.state`; perhaps in another process, perhaps tomorrow."""

    requests: Sequence[Request]
    state: Any = None


@dataclass(frozen=True, slots=True)
class Note:
    """Trouble that did not keep the agent from answering, for staff: it goes into the run's manifest and the log."""

    code: str
    facts: dict[str, Any] = field(default_factory=dict)
    left_out: Collection[int] = ()  # keys of messages that the model did not get after all
    attachments: Collection[str] = ()  # public ids of files that it refused: they are not sent again


Output = Text | Usage | ToolUse | ToolDone | NeedsApproval | Note


class AgentError(Exception):
    """The agent cannot answer. `detail` is a line for the person; the cause goes to staff.

    `refused` are keys of messages that the provider does not accept: they are left out from now on.
    """

    def __init__(self, code: str, detail: str, refused: Collection[int] = ()) -> None:
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.refused = refused


class Agent:
    """An agent behind an alias. It sees what it is given, and nothing else; it never reads the database."""

    #: how many pictures of a question it looks at; with 0, people are told once that nobody does
    pictures: int = 0

    def __init__(self, alias: str, **options: Any) -> None:
        if options:
            raise TypeError(f"{type(self).__name__} has no options {', '.join(sorted(options))}.")
        self.alias = alias

    def reply(self, context: Context) -> AsyncIterator[Output]:
        """The answer to `context.question`, piece by piece: an async generator. Cancelled when the run is stopped."""
        raise NotImplementedError

    @property
    def secrets(self) -> Sequence[str]:
        """What must stand in no log, error or page, such as an API key."""
        return ()

    def check(self) -> list[CheckMessage]:
        """What is wrong with the options, as system checks."""
        return []


__all__ = [
    "Agent",
    "AgentError",
    "Decided",
    "NeedsApproval",
    "Note",
    "Output",
    "Request",
    "Text",
    "ToolDone",
    "ToolUse",
    "Usage",
]
