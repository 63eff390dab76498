"""A warm resume ÷ a ping on an open socket, through a line that takes its time, as between a phone and a site."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bench.client import ATTACH, connected, frame
from bench.people import analyze, person, recorded, signed_in
from bench.rounds import Ratio
from bench.server import serving
from bench.table import Row, ratio_row, say

MISSED = 10
LINE_SECONDS = 0.025  # one way


def measure(quick: bool) -> list[Row]:
    resumes = 40 if quick else 300
    user = person("resume")
    log = recorded(user, 1_000).conversation
    analyze()
    session = signed_in(user)
    rows = []
    for server in ("uvicorn", "daphne"):
        say(f"resume: {resumes} times, {server}")
        with serving(server) as port:
            address = f"{ATTACH}{log.uid}/?cursor={log.epoch}:{log.head - MISSED}"
            opened, whole, pings = asyncio.run(_times(port, address, session, resumes))
        name = f"warm resume, {MISSED} missed events, a line of {LINE_SECONDS * 2000:.0f} ms, {server}"
        for what, seconds in (("from the open socket to its last batch", opened), ("from the first packet on", whole)):
            ratio = Ratio(_p95(seconds) / _p95(pings), min(seconds) / max(pings), max(seconds) / min(pings))
            rows.append(ratio_row(name, f"{what} ÷ ping → pong, 95 % of each", ratio, ("≤", 2)))
        told = ", ".join(f"{_p95(seconds) * 1000:.1f}" for seconds in (opened, whole, pings))
        say(f"resume, {server}: ms at 95 %, open socket, first packet, ping: {told}")
    return rows


async def _times(port: int, address: str, session: str, count: int) -> tuple[list[float], list[float], list[float]]:
    opened, whole, pings = [], [], []
    async with _line(port) as slow:
        for number in range(count + 5):
            start = time.perf_counter()
            async with connected(slow, address, session, deflate=False) as socket:
                open_at = time.perf_counter()
                while '"last":true' not in (await frame(socket))[:600]:
                    pass
                done = time.perf_counter()
                await socket.send(json.dumps({"type": "ping", "n": number}))
                while json.loads(await frame(socket))["type"] != "pong":
                    pass
                ponged = time.perf_counter()
            if number >= 5:  # warm by now
                opened.append(done - open_at)
                whole.append(done - start)
                pings.append(ponged - done)
    return opened, whole, pings


@asynccontextmanager
async def _line(port: int) -> AsyncIterator[int]:
    """A way to a server that takes LINE_SECONDS in each direction, and a round trip to open a connection."""

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                loop.call_later(LINE_SECONDS, writer.write, data)
        loop.call_later(LINE_SECONDS, writer.close)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(2 * LINE_SECONDS)  # the handshake of TCP, which the loopback makes at once
        there, back = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(carry(reader, back), carry(there, writer))

    listening = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield int(listening.sockets[0].getsockname()[1])
    finally:
        listening.close()


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
