"""Telegram's surface keeps the contract of all surfaces; so does a small one."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from crossmemory.surfaces import Destination, Inbound, Outcome, Piece, Surface
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.splitting import units
from crossmemory.testing.surfaces import SurfaceContract
from tests.telegram.conftest import TOKEN

NOBODY = "http://127.0.0.1:9"


class TestTelegram(SurfaceContract):
    def make(self) -> TelegramSurface:
        return TelegramSurface("telegram", token=TOKEN, api_url=NOBODY, username="a_bot", label="Telegram")

    def said(self, text: str, sender: str = "5001") -> bytes:
        person = {"id": int(sender), "is_bot": False, "first_name": "Ines", "language_code": "en"}
        chat = {"id": int(sender), "type": "private"}
        body = {"message_id": 7, "date": 1767225637, "from": person, "chat": chat, "text": text}
        return json.dumps({"update_id": 810001, "message": body}).encode()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[Surface]:
        surface = self.make()
        yield surface
        await surface.close()

    def length(self, text: str) -> int:
        return units(text)


class Pager(Surface):
    """Forty plain characters at a time."""

    max_length = 40

    def parse(self, raw: bytes) -> Inbound:
        try:
            update = json.loads(raw)
        except (ValueError, RecursionError):
            update = None
        if not isinstance(update, dict) or not all(isinstance(update.get(name), str) for name in ("who", "what")):
            return Inbound("skip", reason="unreadable")
        return Inbound("text", sender=update["who"], chat=update["who"], private=True, text=update["what"])

    def render(self, text: str) -> Sequence[Piece]:
        text = text.strip("\u200b \n") or "?"
        pieces = [text[start : start + 40] for start in range(0, len(text), 40)]
        return [Piece(piece) for piece in pieces if piece.strip()]

    async def deliver(self, destination: Destination, piece: Piece) -> Outcome:
        return Outcome("retry", error="No pager answers.")


class TestPager(SurfaceContract):
    def make(self) -> Surface:
        return Pager("pager")

    def said(self, text: str, sender: str = "5001") -> bytes:
        return json.dumps({"who": sender, "what": text}).encode()

    @asynccontextmanager
    async def away(self) -> AsyncIterator[Surface]:
        yield self.make()


class Careless(Pager):
    def parse(self, raw: bytes) -> Inbound:
        update = json.loads(raw)
        return Inbound("text", sender=update["who"], chat="all", text=update["what"])

    def render(self, text: str) -> Sequence[Piece]:
        return [Piece(text[:50])]

    async def deliver(self, destination: Destination, piece: Piece) -> Outcome:
        raise OSError("No pager answers.")


class OfCareless(TestPager):
    def make(self) -> Surface:
        return Careless("pager")


@pytest.mark.parametrize(
    "test",
    [
        "test_what_a_person_says_comes_through",
        "test_two_people_are_two",
        "test_nothing_that_may_come_raises",
        "test_an_answer_fits_and_loses_no_word",
        "test_an_answer_without_words_is_still_one",
        "test_trouble_is_an_outcome",
    ],
)
async def test_a_careless_surface_fails(test: str) -> None:
    """The contract can fail."""
    failed: Any = None
    try:
        result = getattr(OfCareless(), test)()
        if result is not None:
            await result
    except (AssertionError, KeyError, ValueError, TypeError, OSError) as error:
        failed = error
    assert failed is not None
