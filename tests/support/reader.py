"""A client of Server-Sent Events, without a socket: the site's ASGI application at the other end."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from django.core.asgi import get_asgi_application
from django.test import AsyncClient

from crossmemory import broadcast
from crossmemory.models import Conversation


class Reader:
    """One request, and the events of its answer. Cleared, `taking` makes it a client that reads nothing."""

    def __init__(self, path: str, headers: dict[str, str]) -> None:
        path, _, query = path.partition("?")
        self.scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "GET",
            "path": path,
            "query_string": query.encode(),
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
        }
        self.status, self.headers = 0, dict[str, str]()
        self.taking = asyncio.Event()
        self.taking.set()
        self.given = 0  # bytes the application handed over
        self._body = b""
        self._chunks: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._left = asyncio.Event()
        self._started = asyncio.Event()

    async def open(self) -> None:
        self.task = asyncio.create_task(get_asgi_application()(self.scope, self._receive, self._send))
        await asyncio.wait_for(self._started.wait(), 5)

    async def close(self) -> None:
        self._left.set()
        await asyncio.wait([self.task], timeout=5)
        assert self.task.done()

    async def _receive(self) -> dict[str, Any]:
        if not hasattr(self, "_asked"):
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self._started.set()
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            return
        body = message.get("body", b"")
        self.given += len(body)
        await self.taking.wait()
        self._chunks.put_nowait(body)
        if not message.get("more_body"):
            self._chunks.put_nowait(None)

    async def event(self, timeout: float = 5) -> dict[str, Any] | None:
        """The next event as {"event", "id", "data"}, without pings; None at the end."""
        async with asyncio.timeout(timeout):
            while True:
                while b"\n\n" not in self._body:
                    chunk = await self._chunks.get()
                    if chunk is None:
                        return None
                    self._body += chunk
                text, _, self._body = self._body.partition(b"\n\n")
                fields = dict(line.split(": ", 1) for line in text.decode().split("\n"))
                if "data" in fields and fields["event"] != "ping":
                    return {"event": fields["event"], "id": fields.get("id"), "data": json.loads(fields["data"])}

    async def end(self) -> None:
        while await self.event() is not None:
            pass


@asynccontextmanager
async def reading(user: Any, chat: Conversation, query: str = "", **headers: str) -> AsyncIterator[Reader]:
    """Somebody follows a conversation; afterwards nobody does any more."""
    if "Authorization" not in headers and user is not None:
        client = AsyncClient()
        await client.aforce_login(user)
        headers["Cookie"] = f"sessionid={client.cookies['sessionid'].value}"
    reader = Reader(
        f"/api/crossmemory/conversations/{chat.uid}/events/stream/{query}", {"Host": "localhost", **headers}
    )
    await reader.open()
    try:
        yield reader
    finally:
        await reader.close()
        assert not broadcast.bus()._listeners.get(chat.pk)
