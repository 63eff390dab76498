"""A connection without a socket: the real consumer at one end, whoever `deliver`s at the other."""

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

from channels.exceptions import StopConsumer

from crossmemory.attach.consumer import AttachConsumer
from crossmemory.attach.frames import SUBPROTOCOL


class Wire:
    """Frames go to `deliver` as the consumer sends them: at once, or when there is room, or into the void."""

    def __init__(
        self, conversation: Any, query: str, deliver: Callable[[str], None], closed: Callable[[int], None]
    ) -> None:
        self.consumer = AttachConsumer()
        self.consumer.scope = {
            "type": "websocket",
            "headers": [],
            "subprotocols": [SUBPROTOCOL],
            "query_string": query.encode(),
            "url_route": {"kwargs": {"conversation": conversation.uid}},
        }
        self.consumer.base_send = self._send
        self.deliver, self.closed = deliver, closed
        self.room: int | None = None  # frames that still go through; None: any number
        self.life: int | None = None  # frames until the connection breaks; None: it lives
        self._more = asyncio.Event()
        self._inbox: asyncio.Queue[str | bytes | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._serve())

    @property
    def broken(self) -> bool:
        return self.life == 0

    def send(self, frame: dict[str, Any]) -> None:
        """A frame of the client."""
        self.send_raw(json.dumps(frame))

    def send_raw(self, data: str | bytes) -> None:
        if not self.broken:
            self._inbox.put_nowait(data)

    def stall(self, room: int | None) -> None:
        """Let that many frames through, then none; None opens it again."""
        self.room = room
        self._more.set()

    def hang_up(self) -> None:
        """The connection breaks, and the server hears of it."""
        self.life = 0
        self.stall(None)
        self._inbox.put_nowait(None)

    async def ended(self) -> None:
        """Wait for the server's end; raises what went wrong there."""
        self.hang_up()
        await self._task

    async def _serve(self) -> None:
        await self.consumer.websocket_connect({"type": "websocket.connect"})
        while (data := await self._inbox.get()) is not None:
            key = "text" if isinstance(data, str) else "bytes"
            await self.consumer.websocket_receive({"type": "websocket.receive", key: data})
        with contextlib.suppress(StopConsumer):
            await self.consumer.websocket_disconnect({"type": "websocket.disconnect", "code": 1006})

    async def _send(self, message: dict[str, Any]) -> None:
        while self.room == 0 and not self.broken:
            self._more.clear()
            await self._more.wait()
        if self.broken:
            return
        if message["type"] == "websocket.close":
            self.life = 0
            self.closed(message["code"])
        elif message["type"] == "websocket.send":
            self.room = None if self.room is None else self.room - 1
            self.life = None if self.life is None else self.life - 1
            self.deliver(message["text"])
            if self.broken:
                self.closed(1006)
