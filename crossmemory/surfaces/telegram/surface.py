"""The surface behind a Telegram bot's alias."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from django.core.checks import CheckMessage, Error

from crossmemory import db
from crossmemory.models import Poller
from crossmemory.surfaces.base import Destination, Inbound, Outcome, Piece, RemoteFile, Surface
from crossmemory.surfaces.telegram import client, files, menu, rendering, sending, updates
from crossmemory.surfaces.telegram.groups import Bot as Whose
from crossmemory.surfaces.telegram.pacing import Pace

if TYPE_CHECKING:
    from telegram import Bot

API_URL = "https://api.telegram.org"
_TOKEN = re.compile(r"(\d{1,18}):[A-Za-z0-9_-]{1,128}")
_USERNAME = re.compile(r"@([A-Za-z0-9_]{1,64})")
_ASK_AGAIN_SECONDS = 5.0  # how long "the bot has not said its name yet" is believed


class TelegramSurface(Surface):
    """A bot and the people who write to it. Options: `token` from @BotFather; `api_url` of another Bot API server;
    `username` of the bot, else learned when the bot process starts; `open_url` where people open bots; `groups`:
    whether it answers in groups, where it knows nothing of anybody's other conversations; `previews`: whether an
    answer is shown while it is being written."""

    connectable: ClassVar[bool] = True
    streams: ClassVar[bool] = False
    has_buttons: ClassVar[bool] = True
    max_length: ClassVar[int | None] = rendering.MAX_LENGTH

    def __init__(
        self,
        alias: str,
        *,
        token: str,
        api_url: str = API_URL,
        username: str = "",
        open_url: str = "",
        groups: bool = False,
        previews: bool = True,
        **options: Any,
    ) -> None:
        super().__init__(alias, **options)
        self.token = token
        self.api_url = api_url.rstrip("/")
        self._username = username.lstrip("@")
        self.groups = groups
        self.previews = previews
        self.pace = Pace()
        self._asked = 0.0
        # A Bot API server under a path is the sandbox, whose phones open bots beside it.
        self._opens = open_url or (f"{self.api_url}/open" if urlsplit(self.api_url).path else "https://t.me")
        self._bots: WeakKeyDictionary[asyncio.AbstractEventLoop, Bot] = WeakKeyDictionary()

    def __repr__(self) -> str:
        return f"<TelegramSurface {self.alias!r}, bot {self.account}>"

    @property
    def account(self) -> str:
        """The bot's id: what stands before the colon of its token."""
        return self.token.partition(":")[0]

    @property
    def username(self) -> str:
        """The bot's name, from the option or as the bot process last learned it; empty while unknown."""
        if not self._username and time.monotonic() - self._asked >= _ASK_AGAIN_SECONDS:
            self._asked = time.monotonic()
            rows = Poller.objects.using(db.write_alias(Poller)).filter(surface=self.alias, account=self.account)
            found = _USERNAME.match(rows.values_list("detail", flat=True).first() or "")
            self._username = found[1] if found else ""
        return self._username

    def learned(self, username: str) -> None:
        """The Bot API said how the bot is called."""
        self._username = username

    def open_url(self) -> str | None:
        return f"{self._opens}/{self.username}" if self.username else None

    def link_url(self, code: str) -> str | None:
        """https://core.telegram.org/bots/features#deep-linking"""
        return f"{self._opens}/{self.username}?start={code}" if self.username else None

    def parse(self, raw: bytes) -> Inbound:
        return updates.parse(raw, Whose(self._username, self.account, self.groups))

    async def fetch(self, file: RemoteFile) -> bytes:
        return await files.fetch(self.bot(), file)

    def render(self, text: str) -> Sequence[Piece]:
        return rendering.render(text)

    def bot(self) -> Bot:
        """This event loop's client. Raises ImportError without the extra `telegram`."""
        loop = asyncio.get_running_loop()
        if loop not in self._bots:
            self._bots[loop] = client.make_bot(self.token, self.api_url)
        return self._bots[loop]

    async def acknowledge(self, inbound: Inbound) -> None:
        await sending.acknowledge(self.bot(), inbound.press)

    async def publish_menu(self, menus: Mapping[str, Sequence[tuple[str, str]]]) -> None:
        """Have Telegram offer these commands: by language, "" for all others."""
        await menu.publish(self.bot(), menus)

    async def turn(self, destination: Destination) -> Outcome | None:
        if (seconds := self.pace.closed(destination.chat)) > 0:
            return Outcome("rate_limited", retry_after=seconds, error="Asked to wait a moment ago.")
        await asyncio.sleep(self.pace.turn(destination.chat))
        self.pace.answered(destination.chat)
        if preview := self.pace.under_way.get(destination.chat):
            await asyncio.wait([preview])  # else it could arrive below the answer; it gives up by itself
        return None

    async def deliver(self, destination: Destination, piece: Piece) -> Outcome:
        outcome = await sending.send(self.bot(), destination, piece)
        if outcome.fate == "rate_limited":
            self.pace.close(destination.chat, outcome.retry_after)
        return outcome

    async def close(self) -> None:
        """Close this event loop's client."""
        bot = self._bots.pop(asyncio.get_running_loop(), None)
        if bot is not None:
            await client.close(bot)

    def check(self) -> list[CheckMessage]:
        found: list[CheckMessage] = []
        if not _TOKEN.fullmatch(self.token):
            found.append(
                Error(
                    f"The token of the surface {self.alias!r} is not a bot's token.",
                    hint="It looks like 123456:ABC-def and comes from @BotFather. Read it from the environment.",
                    id="crossmemory.E040",
                )
            )
        if missing := [name for name in ("telegram", "telegramify_markdown") if find_spec(name) is None]:
            found.append(
                Error(
                    f"The surface {self.alias!r} needs {' and '.join(missing)}.",
                    hint="Install django-crossmemory[telegram].",
                    id="crossmemory.E041",
                )
            )
        return found
