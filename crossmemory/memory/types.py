"""What memory hands out. Values only: nothing here reads the database."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from crossmemory.models import Owner

Reason = Literal[
    "window",
    "count",
    "tokens",
    "cut turn",
    "not shared",
    "group",
    "unfinished",
    "deleted",
    "refused",
    "duplicate",
    "blank",
    "boundary",
    "too long",
    "set aside",
]


@dataclass(frozen=True, slots=True)
class Remembered:
    """One stored message, as memory sees it."""

    id: int
    conversation_id: int
    seq: int
    turn: int
    role: str
    text: str
    surface: str
    label: str
    at: datetime  # aware; when the site stored it
    sent_at: datetime | None = None  # by the platform's clock
    own: bool = False  # said in the conversation that is being answered
    run_id: int | None = None  # of an answer: the run that gave it

    def as_own(self) -> "Remembered":
        return replace(self, own=True)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A message that was in reach but is not shown to the agent, and why."""

    id: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Manifest:
    """Which messages a run saw, and which were left out and why: "what the assistant saw"."""

    used: tuple[Remembered, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    placement: str = "merged"
    hours_back: float = 0
    missing: bool = False  # history could not be read
    more: bool = False  # older messages were left out too, and are not named
    #: trouble that the answer survived, for staff: {"code", …}
    notes: tuple[dict[str, Any], ...] = ()

    def noted(self, code: str, facts: Mapping[str, Any], left_out: Collection[int] = ()) -> "Manifest":
        """With a note; and without the messages (keys) that the model did not get after all."""
        gone = set(left_out)
        return replace(
            self,
            used=tuple(message for message in self.used if message.id not in gone),
            left_out=(*self.left_out, *(LeftOut(m.id, "too long") for m in self.used if m.id in gone)),
            notes=(*self.notes, {"code": code, **facts}),
        )

    def summary(self) -> dict[str, Any]:
        """The `saw` of events: counts, and per other surface since when."""
        elsewhere: dict[str, dict[str, Any]] = {}
        for message in self.used:
            if not message.own:
                entry = elsewhere.setdefault(
                    message.surface,
                    {
                        "surface": message.surface,
                        "label": message.label,
                        "count": 0,
                        "since": message.at.isoformat(timespec="seconds"),
                    },
                )
                entry["count"] += 1
        return {
            "count": len(self.used),
            "elsewhere": list(elsewhere.values()),
            "left_out": len(self.left_out),
            "missing": self.missing,
        }

    def as_json(self) -> dict[str, Any]:
        """What is stored with the run: keys of messages, never their text."""
        return {
            "used": [{"id": m.id, "own": m.own, "surface": m.surface} for m in self.used],
            "left_out": [{"id": left.id, "reason": left.reason} for left in self.left_out],
            "placement": self.placement,
            "hours_back": self.hours_back,
            "missing": self.missing,
            **({"more": True} if self.more else {}),
            **({"notes": list(self.notes)} if self.notes else {}),
        }


@dataclass(frozen=True, slots=True)
class ToolUsed:
    """A tool that was used, or asked for, in the conversation that is being answered; its run is over."""

    id: str
    name: str
    arguments: Any = None
    result: Any = None  # JSON
    #: "unknown": nobody knows what came of it, since the process died or was stopped meanwhile
    outcome: Literal["done", "failed", "denied", "expired", "cancelled", "unknown"] = "done"
    turn: int = 0  # seq of the question
    before: int | None = None  # key of the message that followed; None: nothing was said after it
    step: int = 0  # calls of the same step were made at once


@dataclass(frozen=True, slots=True)
class Words:
    """Text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The assistant calls a tool. `id` is repeated by the `Result`."""

    id: str
    name: str
    arguments: Any = None  # JSON; repaired: an object


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a call: a JSON value, or in words what went wrong."""

    id: str
    name: str
    content: Any = None
    failed: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """A picture or another file, in the few words that stand for it: `photo harbour.jpg`. Repaired: those words."""

    words: str


Block = Words | Call | Result | File


@dataclass(frozen=True, slots=True)
class Turn:
    """One entry of a provider-neutral history. The person's side holds words and results, the assistant's words and
    calls. `memory.turns` gives them as every model's API takes them: see `memory.repair`."""

    role: Literal["user", "assistant"]
    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, role: Literal["user", "assistant"], *blocks: "Block | str") -> "Turn":
        """A turn of these blocks; a text stands for words."""
        return cls(role, tuple(Words(block) if isinstance(block, str) else block for block in blocks))

    @property
    def text(self) -> str:
        """The words alone, as one text."""
        return "\n\n".join(block.text for block in self.blocks if isinstance(block, Words))

    @property
    def calls(self) -> list[Call]:
        return [block for block in self.blocks if isinstance(block, Call)]

    @property
    def results(self) -> list[Result]:
        return [block for block in self.blocks if isinstance(block, Result)]


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that belongs to the words that have to be answered."""

    attachment: str  # public id of the file
    mime: str
    content: bytes = field(repr=False)


async def _no_steers() -> list[str]:
    return []


async def _no_pictures(most: int, most_bytes: int) -> list[Picture]:
    return []


@dataclass(frozen=True, slots=True)
class Context:
    """All that an agent is given for one answer."""

    messages: Sequence[Remembered]  # ascending; the newest ones are what has to be answered
    manifest: Manifest = field(default_factory=Manifest)
    surface: str = "web"
    language: str = "en"
    time_zone: str = "UTC"
    window_start: int | None = None  # key of the oldest message of the window: on the web, of the own thread's
    recent_start: int | None = None  # on the web: key of the oldest message of other conversations
    tools: Sequence[ToolUsed] = ()  # what was used in this conversation in the turns that are shown, in order
    #: what was decided about the tools the agent asked for, when it goes on after that (crossmemory.turns.Decided)
    decisions: Sequence[Any] = ()
    state: Any = None  # what the agent gave when it asked
    asked_until: int = 0  # key of the newest message that it had then; what is newer was said since
    taken: Collection[int] = ()  # keys of messages that it took between two steps before it asked
    #: the person's words since the agent began or last asked, for an agent that takes them between two steps
    take_steers: Callable[[], Awaitable[list[str]]] = field(default=_no_steers, compare=False, repr=False)
    #: whose conversation it is, for tools that act for somebody; None only in tests
    owner: Owner | None = None
    #: reads the pictures of what has to be answered: at most so many, each of at most so many bytes
    load_pictures: Callable[[int, int], Awaitable[list[Picture]]] = field(
        default=_no_pictures, compare=False, repr=False
    )

    @property
    def question(self) -> str:
        """What has to be answered: the person's words of the newest turn in this conversation."""
        return "\n".join(message.text for message in self.asked)

    @property
    def asked(self) -> list[Remembered]:
        """The messages that have to be answered: several, when they were said before the answer began."""
        mine = [message for message in self.messages if message.own and message.role == "user"]
        return [message for message in mine if message.turn == mine[-1].turn]

    @property
    def missing(self) -> bool:
        """Whether earlier messages could not be read, so that the agent can say so."""
        return self.manifest.missing
