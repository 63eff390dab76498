"""How fast one bot may write: https://core.telegram.org/bots/faq#my-bot-is-hitting-limits-how-do-i-avoid-this

In one chat a message per second, with short bursts; thirty in a second altogether. Answers wait for their turn.
Previews, which nobody misses, take only turns that no answer needs. A chat of which the platform says "wait" is left
alone for all of that time, by everybody.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

CHAT_SECONDS = 1.0  # between two messages in one chat
CHAT_BURST = 5  # messages that may go at once after a pause
ALL_SECONDS = 1 / 30
ALL_BURST = 15
_PREVIEWS_PAUSE = 30.0  # seconds; a limit that a preview meets pauses all previews, at most for this long
_FORGET_ABOVE = 2000  # chats


class Pace:
    """What one process knows of how much it has written. `clock` is in seconds and never goes back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        #: previews on their way, by chat: an answer lets them arrive first
        self.under_way: dict[str, asyncio.Future[None]] = {}
        self._all = 0.0  # when all that was written would have been written at an even pace
        self._chats: dict[str, float] = {}
        self._closed: dict[str, float] = {}
        self._answered: dict[str, float] = {}
        self._previews_from = 0.0

    def turn(self, chat: str) -> float:
        """Seconds until an answer may go to a chat; its place is taken."""
        now = self.clock()
        wait = max(
            self._chats.get(chat, 0.0) - now - (CHAT_BURST - 1) * CHAT_SECONDS,
            self._all - now - (ALL_BURST - 1) * ALL_SECONDS,
            0.0,
        )
        self._take(chat, now)
        return wait

    def may_preview(self, chat: str, seen: float) -> bool:
        """Whether something that was true at `seen` (by the clock) may be shown in a chat now; then its place is taken.

        Not when an answer has gone there since: it would appear below that.
        """
        now = self.clock()
        free = max(self._chats.get(chat, 0.0), self._all, self._previews_from, self._closed.get(chat, 0.0)) <= now
        if not free or chat in self.under_way or self._answered.get(chat, 0.0) >= seen:
            return False
        self._take(chat, now)
        return True

    def closed(self, chat: str) -> float:
        """Seconds for which the platform still wants to be left alone about a chat."""
        return max(0.0, self._closed.get(chat, 0.0) - self.clock())

    def close(self, chat: str, seconds: float, *, preview: bool = False) -> None:
        """The platform asks to wait."""
        now = self.clock()
        self._closed[chat] = max(self._closed.get(chat, 0.0), now + seconds)
        if preview:
            self._previews_from = max(self._previews_from, now + min(seconds, _PREVIEWS_PAUSE))

    def answered(self, chat: str) -> None:
        """An answer is on its way to a chat."""
        self._answered[chat] = self.clock()
        if len(self._answered) > _FORGET_ABOVE:
            self._forget()

    def _take(self, chat: str, now: float) -> None:
        self._chats[chat] = max(self._chats.get(chat, 0.0), now) + CHAT_SECONDS
        self._all = max(self._all, now) + ALL_SECONDS
        if len(self._chats) > _FORGET_ABOVE:
            self._forget()

    def _forget(self) -> None:
        """Chats of which nothing is left to be known."""
        now = self.clock()
        self._chats = {chat: at for chat, at in self._chats.items() if at > now}
        self._closed = {chat: at for chat, at in self._closed.items() if at > now}
        self._answered = {chat: at for chat, at in self._answered.items() if at > now - 60}
