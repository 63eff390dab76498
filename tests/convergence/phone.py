"""A device with a real socket, which breaks and is opened again."""

import asyncio
import contextlib
import json
import random
from collections.abc import Callable
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.frames import Close

from crossmemory.attach.frames import SUBPROTOCOL
from tests.convergence.device import Device

WISHES = "taflooo"  # last characters of questions, as tests.convergence.restless understands them


class SocketWire:
    """What a device sends, in order, from the moment that it is there."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._frames: asyncio.Queue[str] = asyncio.Queue()
        self._task = asyncio.create_task(self._send())

    def send(self, frame: dict[str, Any]) -> None:
        self._frames.put_nowait(json.dumps(frame))

    def hang_up(self) -> None:
        self._task.cancel()

    async def _send(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            while True:
                await self._socket.send(await self._frames.get())


class Phone(Device):
    """It attaches again and again with its cursor, says things, presses buttons. `checked` looks at every frame."""

    def __init__(self, name: str, url: str, headers: dict[str, str], check: Callable[[str], Any]) -> None:
        super().__init__(name, None, max_frame=24 * 1024, check=check)
        self._url, self._headers = url, headers
        self.attached = 0

    async def live(self) -> None:
        """Until cancelled. Raises what the server did wrong."""
        while True:
            self.online, self.replay, self.batch = False, None, 0
            cursor = self.state.cursor
            with contextlib.suppress(OSError, ConnectionClosed, InvalidHandshake, InvalidMessage, TimeoutError):
                async with connect(
                    f"{self._url}?cursor={cursor}",
                    additional_headers=self._headers,
                    subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
                    open_timeout=5,
                    close_timeout=0.2,
                    compression=None if self.attached % 2 else "deflate",
                    ping_interval=None,
                ) as socket:
                    self.attached += 1
                    self.wire = SocketWire(socket)  # type: ignore[assignment]
                    try:
                        async for text in socket:
                            self._frame(str(text))
                    finally:
                        self.wire.hang_up()
                        self.wire, self.online = None, False
                        closed = socket.protocol.close_rcvd
                        assert closed is None or _may_come_back(closed), f"{self.name} was closed with {closed}"
            await asyncio.sleep(0.02)

    async def act(self, rng: random.Random) -> None:
        """Do what people do, until cancelled."""
        while True:
            await asyncio.sleep(rng.random() * 0.4)
            asked = [item for item in self.state.items if item["kind"] == "tool" and item["approval"]]
            if asked and self.online and self.wire is not None and rng.random() < 0.6:
                tool, decision = asked[-1], rng.choice(("approved", "denied"))
                decide = {"tool_call": tool["id"], "decision": decision, "args_hash": tool["approval"]["args_hash"]}
                self.wire.send({"type": "approval.decide", **decide})
            elif self.online and self.wire is not None and rng.random() < 0.08:
                self.wire.send({"type": "run.stop"})
            elif len(self.outbox) < 3:
                number = len(self.said) + 1
                self.say(f"{self.name}-{number}", f"{self.name} asks {'é' * rng.randrange(400)} {rng.choice(WISHES)}")

    def _fetched(self, event: dict[str, Any]) -> dict[str, Any]:
        assert "ref" not in event, "no event here is larger than a frame"
        return event


def _may_come_back(closed: Close) -> bool:
    return closed.code < 4500
