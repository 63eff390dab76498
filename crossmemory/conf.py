"""The app's settings: ``CROSSMEMORY = {…}`` in the site's settings, with these defaults.

Read live on every access, so ``override_settings`` works and nothing is cached. ``checks.py`` refuses unknown names.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.conf import settings as django_settings
from django.utils.module_loading import import_string

KIB = 1024
MIB = 1024 * KIB


class Settings:
    """``settings.NAME`` is the site's value, or the default written here."""

    # Who talks to whom. Aliases work as in CHANNEL_LAYERS and STORAGES: {"BACKEND": dotted path, "OPTIONS": {…}}.
    # An agent's "ALLOWED" is the dotted path of `def allowed(user) -> bool`; without it everybody may use it.
    AGENTS: Mapping[str, Mapping[str, Any]] = {
        "default": {"BACKEND": "crossmemory.agents.recall.RecallAgent"},
    }
    SURFACES: Mapping[str, Mapping[str, Any]] = {
        "web": {"BACKEND": "crossmemory.surfaces.web.WebSurface"},
    }
    RUNNER: Mapping[str, Any] = {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"}
    # Dotted path of `def tenant(user) -> str`; None: one tenant, the empty string.
    TENANT: str | None = None

    # What the model sees.
    HOURS_BACK: float = 24  # hours; the time window of memory from other conversations
    MAX_MESSAGES: int = 16  # newest messages of all conversations, on a secondary surface
    RECENT_MAX_MESSAGES: int = 8  # newest messages of the other surfaces, on the primary one
    THREAD_MAX_MESSAGES: int = 60  # newest messages of the own conversation, on the primary surface
    TOKEN_BUDGET: int | None = 24_000  # tokens of context at most; None: no budget
    # Dotted path of `def count(text: str) -> int`; the default estimates four bytes a token.
    TOKEN_COUNTER: str = "crossmemory.memory.tokens.estimate"
    PLACEMENT: str = "merged"  # where other conversations stand: "merged", "prepended" or "late"

    # The canonical log, per conversation. Both bounds are soft: trimming runs at the end of a run.
    LOG_MAX_EVENTS: int = 10_000
    LOG_MAX_BYTES: int = 8 * MIB
    MAX_TEXT_BYTES: int = 64 * KIB  # a person's message, UTF-8
    MAX_FRAME_BYTES: int = 256 * KIB  # a frame the server sends, encoded, envelope included

    # Runs.
    RUN_LEASE_SECONDS: float = 10  # a run whose owner is silent for longer is taken over
    RUN_TIMEOUT_SECONDS: float = 300  # the longest time an agent may take
    RUN_MAX_ATTEMPTS: int = 3
    RUN_CONCURRENCY: int = 16  # runs that one embedded runner carries out at the same time
    LOCK_TIMEOUT_SECONDS: float = 10  # waiting for a conversation's row lock (PostgreSQL)

    APPROVAL_SECONDS: float = 3600  # a tool call waits this long for a person's decision

    # Attach.
    PING_SECONDS: float = 25
    PONG_TIMEOUT_SECONDS: float = 30
    RECHECK_SECONDS: float = 3  # a socket's command is carried out when sign-in and access were seen this recently
    POLL_SECONDS: float = 0.5  # how often other processes' writes are looked for without a shared channel layer
    LONG_POLL_SECONDS: float = 30  # the longest `wait` of a long poll
    FRAMES_PER_SECOND: float = 50  # frames a client may send on average; a burst of ten times that is let through
    DELTA_SECONDS: float = 0.06  # streamed text is coalesced for this long
    CHANNEL_LAYER: str = "default"

    # Surfaces and links.
    LINK_CODE_MINUTES: float = 10
    LINK_GUESSES: int = 5  # wrong codes per sender and hour
    QUIET_SECONDS: float = 1  # an answer waits this long for the rest of what somebody says on a secondary surface
    QUIET_MAX_SECONDS: float = 10  # and at most this long altogether
    # What one person may use of an agent in a day of their time zone; None: as much as they like.
    DAILY_MESSAGES: int | None = None
    DAILY_TOKENS: int | None = None  # input and output tokens of their answers
    DAILY_COST: float | str | None = None  # US dollars, as far as the agent tells what its answers cost
    INBOX_MAX_ATTEMPTS: int = 5
    DELIVERY_MAX_ATTEMPTS: int = 8
    UNLINKED_HOURS: float = 24  # words of people who are not linked are kept at most this long
    REVISION_DAYS: float = 30  # earlier texts of edited messages are kept this long
    RAW_DAYS: float = 30  # raw updates are kept this long

    # Files.
    ATTACHMENT_STORAGE: str = "default"  # alias in STORAGES; one that is not served to the public is best
    MAX_ATTACHMENT_BYTES: int = 20 * MIB  # one file
    MAX_ATTACHMENTS: int = 10  # files of one message
    UNSENT_HOURS: float = 24  # a file that was uploaded and not sent is kept this long
    # Dotted path of `def describe(file, mime: str, type: str) -> str`: a recording's words, what a picture shows.
    DESCRIBER: str | None = None

    # Threads that async code may use for the database, per process.
    DB_THREADS: int = 8

    _names: ClassVar[frozenset[str]]

    def __getattribute__(self, name: str) -> Any:
        if name.isupper():
            site: Mapping[str, Any] = getattr(django_settings, "CROSSMEMORY", {})
            if name in site:
                return site[name]
        return object.__getattribute__(self, name)

    @classmethod
    def names(cls) -> frozenset[str]:
        return frozenset(name for name in vars(cls) if name.isupper())

    def imported(self, name: str) -> Any:
        """The object that a dotted-path setting names. Raises ImportError."""
        return import_string(getattr(self, name))


settings = Settings()


def surface_label(alias: str) -> str:
    """How people call the surface behind an alias: its `label` option, or the alias itself."""
    options = settings.SURFACES.get(alias, {}).get("OPTIONS", {})
    return str(options.get("label") or alias.capitalize())


def primary_surface() -> str:
    """The alias of the surface where people manage many conversations: the web page."""
    return "web"
