"""A way to a server that breaks: bytes go both ways until one is one too many, in the middle of whatever it was."""

import asyncio
import contextlib
import random
import socket
import struct
from types import TracebackType
from typing import Self

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER of no time: closing sends RST instead of FIN


class Breaking:
    """`async with Breaking(port, rng) as way:` connects `way.port` with a server's; while `cuts`, connections break."""

    def __init__(self, server: int, rng: random.Random) -> None:
        self._server, self._rng = server, rng
        self.cuts = True
        self.broken = 0
        self.port = 0

    async def __aenter__(self) -> Self:
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._listening.sockets[0].getsockname()[1])
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, with so many bytes to live in each direction."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._server)
        except OSError:
            writer.close()
            return
        up = self._rng.choice((300, 600, 1_500, 6_000)) + self._rng.randrange(500)
        down = self._rng.choice((200, 900, 4_000, 20_000, 60_000)) + self._rng.randrange(900)
        ways = [
            asyncio.create_task(self._carry(reader, back, up)),
            asyncio.create_task(self._carry(there, writer, down)),
        ]
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        for end in (writer, back):
            if self._rng.random() < 0.5:
                end.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            with contextlib.suppress(OSError):
                end.close()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, left: int) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(4096):
                if self.cuts and len(data) >= left:
                    writer.write(data[:left])  # half a frame still gets through
                    await writer.drain()
                    self.broken += 1
                    return
                left -= len(data)
                writer.write(data)
                await writer.drain()
