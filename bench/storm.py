"""A thousand sockets that reconnect at once with cursors ÷ a consumer that does one query and sends the same bytes."""

import asyncio
import hashlib
import os
import resource
import time
import urllib.request
from contextlib import AsyncExitStack
from dataclasses import dataclass
from statistics import median

from bench.client import ATTACH, QUERY, connected, frame
from bench.people import Recorded, analyze, person, recorded, signed_in
from bench.rounds import spread
from bench.server import running
from bench.table import Row, ratio_row, say

SOCKETS = 1_000
MISSED = 10  # events that each of them has missed
_CONVERSATIONS = 50
_EVENTS = 200
_AT_ONCE = 200  # handshakes under way: a listen queue is no longer than that
_SETTLE_SECONDS = 1.0


@dataclass(frozen=True)
class Storm:
    """What one storm cost."""

    seconds: float  # until the last socket had everything
    cpu: float  # seconds of the server process
    queries: float  # per socket
    memory: float  # bytes that a socket holds once all is quiet
    digest: str  # of all that was received


def measure(quick: bool) -> list[Row]:
    sockets, rounds = (200, 2) if quick else (SOCKETS, 5)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, 3 * sockets + 500), limit))
    user = person("storm")
    logs = [recorded(user, _EVENTS) for _ in range(_CONVERSATIONS)]
    analyze()
    session = signed_in(user)
    rows = []
    for server in ("uvicorn", "daphne"):
        say(f"storm: {rounds} rounds of {sockets} sockets, {server}")
        storms = _rounds(server, logs, session, sockets, rounds)
        rows += _rows(server, sockets, *storms)
    return rows


def _rows(server: str, sockets: int, ours: list[Storm], query: list[Storm]) -> list[Row]:
    if {storm.digest for storm in ours} != {storm.digest for storm in query}:
        raise AssertionError("The sockets did not all receive the same.")
    queries = {round(storm.queries, 2) for storm in ours}
    say(
        f"storm, {server}: {sockets} sockets, queries a socket: {sorted(queries)};"
        f" s: {median(s.seconds for s in ours):.1f} and {median(s.seconds for s in query):.1f};"
        f" KiB a socket: {median(s.memory for s in ours) / 1024:.1f} and {median(s.memory for s in query) / 1024:.1f}"
    )
    pairs = list(zip(ours, query, strict=True))
    what = f"{sockets:,} sockets at once, {MISSED} missed events, {server}"
    whole = spread([a.seconds / b.seconds for a, b in pairs])
    cpu = spread([a.cpu / b.cpu for a, b in pairs])
    memory = spread([a.memory / b.memory for a, b in pairs])
    plain = "one query and the same bytes"
    return [
        ratio_row(what, f"attach ÷ {plain}, until the last has all", whole, ("≤", 2)),
        ratio_row(what, "the same, CPU of the server process", cpu, ("≤", 2)),
        ratio_row(f"{sockets:,} idle sockets, {server}", f"memory of a socket, attached ÷ {plain}", memory, ("≤", 1.2)),
    ]


def _rounds(
    server: str, logs: list[Recorded], session: str, sockets: int, rounds: int
) -> tuple[list[Storm], list[Storm]]:
    """Each round a fresh process for each side, in turns."""
    found: dict[str, list[Storm]] = {ATTACH: [], QUERY: []}
    for number in range(rounds):
        for path in (ATTACH, QUERY) if number % 2 else (QUERY, ATTACH):
            with running(server, {"PING_SECONDS": "600"}) as (port, pid):
                asyncio.run(_blow(port, pid, path, logs[:1], session, 20))  # warm: threads and connections are there
                found[path].append(asyncio.run(_blow(port, pid, path, logs, session, sockets)))
    return found[ATTACH], found[QUERY]


async def _blow(port: int, pid: int, path: str, logs: list[Recorded], session: str, sockets: int) -> Storm:
    memory, cpu, queries = _resident(pid), _cpu(pid), _queries(port)
    gate = asyncio.Semaphore(_AT_ONCE)
    texts: list[str] = [""] * sockets
    async with AsyncExitStack() as stack:

        async def reconnect(number: int) -> None:
            log = logs[number % len(logs)].conversation
            address = f"{path}{log.uid}/?cursor={log.epoch}:{log.head - MISSED}"
            async with gate:
                socket = await stack.enter_async_context(connected(port, address, session, deflate=False))
            while True:
                text = await frame(socket)
                texts[number] += text.partition('"events":')[2]
                if '"last":true' in text[:600]:
                    return

        start = time.perf_counter()
        await asyncio.gather(*(reconnect(number) for number in range(sockets)))
        seconds = time.perf_counter() - start
        await asyncio.sleep(_SETTLE_SECONDS)
        spent, grown, made = _cpu(pid) - cpu, _resident(pid) - memory, _queries(port) - queries
    digest = hashlib.sha256("".join(texts).encode()).hexdigest()
    return Storm(seconds, spent, made / sockets, grown / sockets, digest)


def _queries(port: int) -> int:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/queries") as answer:
        return int(answer.read())


def _cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        spent = file.read().rpartition(")")[2].split()
    return (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")


def _resident(pid: int) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
