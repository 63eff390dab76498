"""The interface behind which every surface stands: what came in becomes `Inbound`, an answer becomes pieces."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Literal

from django.core.checks import CheckMessage

from crossmemory import attachments
from crossmemory.conf import surface_label
from crossmemory.exceptions import CrossmemoryError, UnsupportedFeature
from crossmemory.surfaces import framing

#: text: a person's words; edit: other words for a message; button: a press, `text` is its data; reaction: kept, no
#: more; reachable, unreachable: the person let us in or shut us out; moved: the chat has the new id `text`
Kind = Literal["text", "command", "edit", "button", "reaction", "reachable", "unreachable", "moved", "skip"]


class FileTrouble(CrossmemoryError):
    """The file could not be fetched."""

    code = "failed"  # "too_large", or "failed"

    def __init__(self, code: str, message: str | None = None) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that the platform holds: `part` is the index of the part it belongs to."""

    part: int
    reference: str  # the platform's name of it, good for fetching
    identity: str = ""  # the same for the same file
    bytes: int | None = None  # as the platform says


@dataclass(frozen=True, slots=True)
class Inbound:
    """One thing that came in, in the app's own words. What is not understood is `skip`, with a reason."""

    kind: Kind
    sender: str = ""  # the person's id on the surface; empty: nobody's identity
    chat: str = ""  # where the answer goes
    private: bool = False  # a one-to-one chat
    text: str = ""  # what they typed: the words, or a caption
    command: str = ""  # without slash and bot name, lower case; `text` is then its argument
    topic: str = ""
    message_id: str = ""  # the platform's id of the message, to reply to
    reply_to: str = ""  # the id of the message that this one answers
    name: str = ""  # how the person calls themselves; shown, never trusted
    language: str = ""
    sent_at: datetime | None = None  # the platform's clock
    reason: str = ""  # why it is skipped
    parts: list[Any] | None = None  # each with "words", which stand for it in brackets
    files: tuple[RemoteFile, ...] = ()
    forwarded_from: str | None = None  # text and parts are somebody else's, passed on; None: they are not
    quote: str = ""  # what this is about
    quote_by: str = ""  # whose words that is
    album: str = ""  # what belongs to one message and came as several
    unfinished: bool = False  # so long that the platform has cut it: the rest is on its way
    title: str = ""  # how a group is called
    press: str = ""  # the platform's id of a press, to be acknowledged, also of one that is skipped

    @property
    def about(self) -> str:
        """The platform's name of the message, unique in its account; empty when it has none. 0 is no name."""
        return self.name_of(self.message_id)

    @property
    def place(self) -> str:
        """The chat, and the topic in it."""
        return f"{self.chat}#{self.topic}" if self.topic else self.chat

    def name_of(self, message_id: str) -> str:
        """The platform's name of a message in the same place."""
        return f"{self.place}/{message_id}" if self.chat and message_id not in ("", "0") else ""

    @property
    def whole(self) -> str:
        """What is said, as one text: brackets for what carries no text, frames around other people's words."""
        words = attachments.worded(self.parts, self.text)
        if self.forwarded_from is not None:
            return framing.forwarded(words, self.forwarded_from) if words.strip() else ""
        return framing.answering(words, self.quote, self.quote_by) if self.quote.strip() and words.strip() else words


@dataclass(frozen=True, slots=True)
class Destination:
    """Where an answer goes. Comes from what came in; a conversation holds no "last used" place."""

    surface: str
    account: str
    chat: str
    topic: str = ""
    reply_to: str = ""

    def as_json(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in ("surface", "account", "chat", "topic", "reply_to")}


@dataclass(frozen=True, slots=True)
class Piece:
    """One piece of a message as it goes to the platform: text in the platform's units, and what dresses it."""

    text: str
    payload: dict[str, Any] = field(default_factory=dict)


Fate = Literal["sent", "retry", "rate_limited", "unknown", "blocked", "failed"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a piece that was handed to the platform."""

    fate: Fate
    external_id: str = ""
    error: str = ""
    retry_after: float = 0  # seconds; honoured in full
    chat: str = ""  # the chat's new id, when the platform moved it
    topic: str | None = None  # where in the chat it landed, when that is not where it was to go


class Surface:
    """A surface behind an alias. Subclasses say by flags what they can do; what they cannot do raises."""

    #: people manage many conversations here
    primary: ClassVar[bool] = False
    #: text is shown while it is being written
    streams: ClassVar[bool] = False
    #: text may be shown while it is being written, and leaves nothing behind: see `Run.preview`
    previews: bool = False
    #: a piece may have buttons, and get another text later
    has_buttons: ClassVar[bool] = False
    #: an account on this surface is linked with a code
    connectable: ClassVar[bool] = False
    max_length: ClassVar[int | None] = None

    def __init__(self, alias: str, *, agent: str = "default", label: str = "", site_url: str = "") -> None:
        self.alias = alias
        self.agent = agent
        self.label = label or surface_label(alias)
        #: address of the page where people connect an account; told to those who have not
        self.site_url = site_url

    @property
    def account(self) -> str:
        """Which of the site's own accounts this is: a bot's id, a phone number's id."""
        return self.alias

    def open_url(self) -> str | None:
        """Where people open this surface, or None."""
        return None

    def link_url(self, code: str) -> str | None:
        """Where a link code is used by one tap, or None."""
        return None

    def parse(self, raw: bytes) -> Inbound:
        """One stored update in the app's words. Never raises for what a platform may send: unknown is `skip`."""
        raise UnsupportedFeature(f"Nothing comes in on {self.alias!r}.")

    async def fetch(self, file: RemoteFile) -> bytes:
        """A file's content. Raises FileTrouble; what it takes too long for is cancelled."""
        raise UnsupportedFeature(f"No files come in on {self.alias!r}.")

    async def acknowledge(self, inbound: Inbound) -> None:
        """Tell the platform that a button's press has arrived, before it is carried out. Never raises for what goes
        wrong: the press is stored, and counts."""

    def render(self, text: str) -> Sequence[Piece]:
        """An answer (Markdown) as pieces that the platform accepts, in order; nothing of it is lost."""
        raise UnsupportedFeature(f"Nothing is delivered to {self.alias!r}.")

    async def turn(self, destination: Destination) -> Outcome | None:
        """Wait until this chat may get a piece, well within a lease; an outcome when that takes longer.

        What takes time before a piece goes out belongs here: a process that dies in here has sent nothing.
        """
        return None

    async def deliver(self, destination: Destination, piece: Piece) -> Outcome:
        """Hand one piece to the platform. Errors are outcomes, not exceptions."""
        raise UnsupportedFeature(f"Nothing is delivered to {self.alias!r}.")

    def check(self) -> list[CheckMessage]:
        """What is wrong with the options, as system checks."""
        return []
