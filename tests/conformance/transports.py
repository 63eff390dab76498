"""The ways on which the same facts reach a client: the socket, Server-Sent Events, polls."""

import asyncio
import json
from collections import deque
from typing import Any

from django.test import Client as Browser

from crossmemory import db
from tests.conformance.scripts import Script
from tests.support.attached import signed_in
from tests.support.frames import check, check_event, checked
from tests.support.reader import Reader

ROOT = "/api/crossmemory/conversations/"
STATUS = {4501: (401, 403), 4503: (404,), 4504: (403, 404)}  # of HTTP, in the place of close codes


def ways(script: Script) -> list[str]:
    """On which ways a script can be played: over HTTP nothing is sent; a poll has no text that is
    being written, and no batches."""
    words = {word for step in script["steps"] for word in step}
    if words & {"sends", "sends_raw", "polls", "until"} or _asks_for_size(script):
        return ["socket"]
    if "receives_text" in words or _in_batches(script):
        return ["socket", "stream"]
    return ["socket", "stream", "poll"]


def _in_batches(script: Script) -> bool:
    return any(step.get("receives", {}).get("batch") for step in script["steps"])


def _asks_for_size(script: Script) -> bool:
    return any("max_frame" in step.get("connects", {}) for step in script["steps"])


class Stream:
    """Follows by Server-Sent Events. The cursor goes as `Last-Event-ID`, which beats the one in the address."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader

    @classmethod
    async def open(cls, user: Any, conversation: Any, cursor: str | None) -> "Stream":
        headers = {"Host": "localhost"}
        if user is not None:
            headers["Cookie"] = f"sessionid={await db.run(signed_in, user)}"
        if cursor is not None:
            headers["Last-Event-ID"] = cursor
        reader = Reader(f"{ROOT}{conversation.uid}/events/stream/?cursor=another:1", headers)
        await reader.open()
        return cls(reader)

    async def frame(self) -> dict[str, Any]:
        event = await self.reader.event()
        assert event is not None, "the stream has ended"
        frame = checked(json.dumps(event["data"]))
        assert event["event"] == frame["type"]
        assert event["id"] == _stands(frame)
        return frame

    async def closed(self, code: int) -> None:
        if self.reader.status == 200:
            await self.reader.end()
            again = Reader(self.reader.scope["path"], {k.decode(): v.decode() for k, v in self.reader.scope["headers"]})
            await again.open()
            await again.close()
            assert again.status in STATUS[code]
        else:
            assert self.reader.status in STATUS[code]

    async def close(self) -> None:
        await self.reader.close()


def _stands(frame: dict[str, Any]) -> str | None:
    """Where a client stands that has this frame."""
    if frame["type"] == "event":
        return f"{frame['epoch']}:{frame['event']['seq']}"
    if frame["type"] == "structured_replay":
        return f"{frame['epoch']}:{frame['head'] if frame['last'] else frame['to']}"
    return None


class Poll:
    """Asks again and again. What it is told after its first answer is given on event by event."""

    def __init__(self, browser: Browser, conversation: Any, cursor: str | None) -> None:
        self.browser, self.path, self.cursor = browser, f"{ROOT}{conversation.uid}/events/", cursor
        self.first = True
        self.waiting: deque[dict[str, Any]] = deque()

    @classmethod
    async def open(cls, user: Any, conversation: Any, cursor: str | None) -> "Poll":
        browser = Browser()
        if user is not None:
            await db.run(browser.force_login, user)
        return cls(browser, conversation, cursor)

    def ask(self) -> Any:
        return self.browser.get(self.path, {"wait": 0, **({"cursor": self.cursor} if self.cursor else {})})

    async def frame(self) -> dict[str, Any]:
        async with asyncio.timeout(5):
            while not self.waiting:
                self._take(checked_poll(await db.run(self.ask)))
                await asyncio.sleep(0 if self.waiting else 0.02)
        return self.waiting.popleft()

    def _take(self, answer: dict[str, Any]) -> None:
        self.cursor = answer["cursor"]
        if self.first or answer["reset"]:
            self.first = False
            self.waiting.append(answer)
        else:
            told = ({"type": "event", "epoch": answer["epoch"], "event": event} for event in answer["events"])
            self.waiting.extend(told)

    async def closed(self, code: int) -> None:
        assert (await db.run(self.ask)).status_code in STATUS[code]

    async def close(self) -> None:
        """A poll has nothing open."""


def checked_poll(response: Any) -> dict[str, Any]:
    """A poll's answer, as the schema tells it."""
    assert response.status_code == 200, response.content
    answer: dict[str, Any] = response.json()
    check("poll", {**answer, "events": []})
    for event in answer["events"]:
        check_event(event)
    return answer


HTTP: dict[str, type[Stream] | type[Poll]] = {"stream": Stream, "poll": Poll}
