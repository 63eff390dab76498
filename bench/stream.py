"""How long after the agent's first token its text is on the socket. Milliseconds, not a ratio."""

import asyncio
import json
import time
from statistics import quantiles
from typing import Any

from bench.client import ATTACH, connected, frame
from bench.people import person, signed_in
from bench.rounds import spread
from bench.server import serving
from bench.table import Row, ratio_row, say
from crossmemory import log
from crossmemory.models import Owner


def measure(quick: bool) -> list[Row]:
    turns = 10 if quick else 60
    user = person("stream")
    conversation = log.create(Owner.of(user), "web", "Bench")
    path, session = f"{ATTACH}{conversation.uid}/", signed_in(user)
    say(f"stream: {turns} turns on uvicorn")
    with serving("uvicorn", {"BENCH_AGENT": "bench.agents.ClockAgent"}) as port:
        delays = asyncio.run(_delays(port, path, session, turns))
    result = spread(delays)
    late = quantiles(delays, n=20)[-1]
    row = ratio_row(
        f"first streamed text, uvicorn, {turns} turns",
        "arrival of the first delta − the agent's first token",
        result,
        ("≤", 50),
        " ms",
    )
    return [Row(row.what, row.compared, f"{row.median} (95 %: {late:.1f} ms)", row.spread, row.target, row.reached)]


async def _delays(port: int, path: str, session: str, turns: int) -> list[float]:
    """Milliseconds of each turn but the first, which starts threads and connections."""
    delays = []
    async with connected(port, path, session) as socket:
        while '"last":true' not in await frame(socket):  # a server that has just begun takes a moment to attach
            pass
        for number in range(turns + 1):
            message = {"type": "message.send", "client_id": f"c{number}", "text": f"Question {number}?"}
            await socket.send(json.dumps(message))
            delays.append(await _first_text(socket))
    return delays[1:]


async def _first_text(socket: Any) -> float:
    delay = None
    while True:
        text = await frame(socket)
        if delay is None and text.startswith('{"type":"delta"'):
            arrived = time.time_ns()
            delay = (arrived - int(json.loads(text)["text"])) / 1e6
        if '"type":"run.completed"' in text:
            assert delay is not None, "the answer was complete before any of it was shown"
            return delay
