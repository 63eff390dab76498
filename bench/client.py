"""A client over a real connection, which answers pings as the protocol asks."""

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from crossmemory.attach.frames import SUBPROTOCOL
from crossmemory.attach.paths import SOCKET_PREFIX

ATTACH, PLAIN, QUERY = f"/{SOCKET_PREFIX}", "/ws/plain/", "/ws/query/"

_PING = '{"type":"ping"'
_ENVELOPE = 600  # characters in which a batch says whether it is the last


@dataclass
class Received:
    """What an attach brought until its last batch."""

    seconds: float
    frames: int
    bytes: int


@asynccontextmanager
async def connected(port: int, path: str, session: str, *, deflate: bool = True) -> AsyncIterator[ClientConnection]:
    """A socket as a signed-in page opens it. Browsers offer to compress; `deflate` says whether we do."""
    headers = {"Origin": f"http://127.0.0.1:{port}", "Cookie": f"sessionid={session}"}
    async with connect(
        f"ws://127.0.0.1:{port}{path}",
        additional_headers=headers,
        subprotocols=[SUBPROTOCOL],  # type: ignore[list-item]
        compression="deflate" if deflate else None,
        max_size=None,
        ping_interval=None,
    ) as socket:
        yield socket


async def frame(socket: ClientConnection) -> str:
    """The next frame that is not a ping."""
    while True:
        text = await socket.recv()
        assert isinstance(text, str)
        if not text.startswith(_PING):
            return text
        ping: dict[str, Any] = json.loads(text)
        if "n" in ping:
            await socket.send(json.dumps({"type": "pong", "n": ping["n"]}))


async def attach(port: int, path: str, session: str, *, deflate: bool = True) -> Received:
    """Attach, from opening the connection until the last batch is there."""
    frames, size = 0, 0
    start = time.perf_counter()
    async with connected(port, path, session, deflate=deflate) as socket:
        while True:
            text = await frame(socket)
            frames += 1
            size += len(text)
            if '"last":true' in text[:_ENVELOPE]:
                return Received(time.perf_counter() - start, frames, size)
