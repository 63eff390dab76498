"""The terminal client does its duties, as the conformance scripts tell them."""

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from crossmemory.attach.terminal import local, session
from tests.conformance.scripts import Names, Script, scripts
from tests.support.frames import checked

LACKS = {"references", "refused bubbles", "network", "storage", "reading"}
SCRIPTS = [(name, script) for name, script in scripts("client") if not LACKS & set(script.get("needs", ()))]


class Server:
    """The other end of each connection of one client: the script's."""

    def __init__(self) -> None:
        self.connections: asyncio.Queue[Connection] = asyncio.Queue()

    def as_asgi(self) -> Any:
        async def serve(scope: Any, receive: Any, send: Any) -> None:
            connection = Connection(scope, send)
            assert (await receive())["type"] == "websocket.connect"
            self.connections.put_nowait(connection)
            while (message := await receive())["type"] != "websocket.disconnect":
                connection.frames.append(json.loads(message["text"]))

        return serve


class Connection:
    def __init__(self, scope: Any, send: Any) -> None:
        self.cursor = scope["query_string"].decode().partition("cursor=")[2]
        self.send = send
        self.frames: list[dict[str, Any]] = []


class Client(session.Session):
    """What a person at a terminal has, without the terminal."""

    def __init__(self) -> None:
        super().__init__(None, SimpleNamespace(uid="c1", pk=1), read_only=False)  # type: ignore[arg-type]
        self.effects: list[int] = []

    async def shown(self, frame: dict[str, Any], text: str) -> None:
        if frame["type"] == "event" and self.attached:
            self.effects.append(frame["event"]["seq"])

    def told(self) -> dict[str, Any]:
        state = self.state
        return {
            "epoch": state.epoch,
            "seq": state.seq,
            "run": state.run,
            "title": state.title,
            "online": self.attached,
            "truncated": state.gap is not None,
            "items": state.items,
            "bubbles": list(self.sending.values()),
            "armed": list(self.open_calls),
        }


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()
    monkeypatch.setattr(local, "LocalConsumer", made)
    monkeypatch.setattr(session, "_AGAIN_SECONDS", (0.01, 0.02))
    return made


@pytest.mark.parametrize("script", [script for _, script in SCRIPTS], ids=[name for name, _ in SCRIPTS])
async def test_the_terminal_client(script: Script, server: Server) -> None:
    client = Client()
    running = asyncio.create_task(client.run())
    try:
        await Play(client, server, running, script).go(script["steps"])
    finally:
        client.detach()
        await asyncio.wait([running], timeout=2)


class Play:
    """One script, step by step."""

    def __init__(self, client: Client, server: Server, running: "asyncio.Task[None]", script: Script) -> None:
        self.client, self.server, self.running = client, server, running
        self.later = script["duties"] == [6]  # a server of a later version speaks, with more than we know
        self.names = Names()
        self.read = 0  # frames of this connection that were looked at
        self.looked = 0  # effects

    async def go(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            [(word, value)] = step.items()
            await getattr(self, f"_{word}")(value)
            await asyncio.sleep(0.005)

    async def _connects(self, expected: dict[str, Any]) -> None:
        async with asyncio.timeout(2):
            self.connection = await self.server.connections.get()
        self.read = 0
        self.names.check({"cursor": self.connection.cursor or None}, expected)

    async def _server(self, frame: dict[str, Any]) -> None:
        text = json.dumps(self.names.filled(frame), separators=(",", ":"), ensure_ascii=False)
        if not self.later:
            checked(text)
        await self.connection.send({"type": "websocket.send", "text": text})

    async def _raw(self, text: str) -> None:
        await self.connection.send({"type": "websocket.send", "text": text})

    async def _closes(self, code: int) -> None:
        await self.connection.send({"type": "websocket.close", "code": code})

    async def _breaks(self, _: bool) -> None:
        await self._closes(1006)

    async def _stays_away(self, _: bool) -> None:
        async with asyncio.timeout(2):
            with pytest.raises(session.Ended):
                await self.running
        assert self.server.connections.empty()

    async def _says(self, text: str) -> None:
        await self.client.say(text)

    async def _presses(self, about: dict[str, str]) -> None:
        if about["tool_call"] in self.client.open_calls:
            await self.client.decide(about["tool_call"], about["decision"])

    async def _sends(self, expected: dict[str, Any]) -> None:
        async with asyncio.timeout(2):
            while len(self.connection.frames) <= self.read:  # noqa: ASYNC110
                await asyncio.sleep(0.005)
        self.names.check(self.connection.frames[self.read], expected)
        checked(json.dumps(self.connection.frames[self.read]), "client")
        self.read += 1

    async def _sends_nothing(self, _: bool) -> None:
        await asyncio.sleep(0.05)
        assert self.connection.frames[self.read :] == []

    async def _state(self, expected: dict[str, Any]) -> None:
        self.names.check(self.client.told(), expected)

    async def _effects(self, expected: list[int]) -> None:
        found, self.looked = self.client.effects[self.looked :], len(self.client.effects)
        assert sorted(set(found)) == expected
