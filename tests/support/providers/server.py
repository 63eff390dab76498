"""One HTTP server for all wire formats: answers as scripted, keeps what it was sent, in the test's own event loop."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Self

from crossmemory.testing import providers
from tests.support.providers import anthropic, gemini, openai

_WIRES: Mapping[str, ModuleType] = {"openai": openai, "anthropic": anthropic, "gemini": gemini}


@dataclass(frozen=True)
class Answer:
    """What the model says: pieces of text, then calls of tools (name, arguments)."""

    pieces: Sequence[str] = ()
    calls: Sequence[tuple[str, Any]] = ()
    finish: str = ""  # "", "length" or "refused"
    input_tokens: int = 100
    cached_tokens: int = 0
    written_tokens: int = 0  # to the cache; Anthropic says so
    output_tokens: int = 10
    pause: float = 0  # seconds before each event of the stream
    #: events after which the connection breaks; None: it does not
    breaks_after: int | None = None
    #: events after which the provider reports trouble inside the stream (a kind of Failure)
    fails_after: tuple[int, str] | None = None


@dataclass(frozen=True)
class Failure:
    """An HTTP error: unauthorized, rate_limited, quota, server_error, overloaded, too_long, refused, bad_image."""

    kind: str
    retry_after: float | None = None  # seconds
    echo: str = ""  # words that the provider repeats in its message


@dataclass(frozen=True)
class Received:
    """One request, as it came over the wire."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


Script = Callable[[Received], Answer | Failure]


@dataclass
class Provider:
    """`async with Provider("openai") as provider:` listens on `provider.base_url`.

    Answers with `replies` in turn; then with `always`.
    """

    wire: str
    replies: list[Answer | Failure | Script] = field(default_factory=list)
    always: Answer | Failure | Script = field(default_factory=lambda: Answer(["Hello ", "there."]))
    received: list[Received] = field(default_factory=list)
    #: what the provider would refuse of each request; a test that expects nothing asserts so
    violations: list[str] = field(default_factory=list)
    #: answers that are being streamed
    streaming: int = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{port}{_WIRES[self.wire].PREFIX}"
        self._serving: set[asyncio.Task[None]] = set()
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in self._serving:
            task.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                self.received.append(request)
                self.violations += map(str, providers.refusals(self.wire, request.body))
                reply: Any = self.replies.pop(0) if self.replies else self.always
                await self._reply(writer, request, reply(request) if callable(reply) else reply)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _reply(self, writer: asyncio.StreamWriter, request: Received, reply: Answer | Failure) -> None:
        wire = _WIRES[self.wire]
        if isinstance(reply, Failure):
            status, body = wire.failure(reply.kind, reply.echo, reply.retry_after)
            extra = "" if reply.retry_after is None else f"retry-after: {reply.retry_after:g}\r\n"
            content = json.dumps(body).encode()
            writer.write(
                f"HTTP/1.1 {status} Trouble\r\ncontent-type: application/json\r\n{extra}"
                f"content-length: {len(content)}\r\n\r\n".encode()
                + content
            )
            await writer.drain()
            return
        self.streaming += 1
        try:
            await self._stream(writer, request, reply)
        finally:
            self.streaming -= 1

    async def _stream(self, writer: asyncio.StreamWriter, request: Received, reply: Answer) -> None:
        wire = _WIRES[self.wire]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        events = wire.events(reply, request.path, request.body)
        async for event in _paced(events, reply, wire):
            writer.write(b"%x\r\n%s\r\n" % (len(event), event))
            await writer.drain()
        if reply.breaks_after is not None:
            raise ConnectionAbortedError  # without the last chunk: the stream broke
        writer.write(b"0\r\n\r\n")
        await writer.drain()


async def _paced(events: Sequence[bytes], reply: Answer, wire: ModuleType) -> AsyncIterator[bytes]:
    for number, event in enumerate(events):
        if reply.breaks_after is not None and number >= reply.breaks_after:
            return
        if reply.fails_after is not None and number >= reply.fails_after[0]:
            yield wire.trouble(reply.fails_after[1])
            return
        await asyncio.sleep(reply.pause)
        yield event


async def _read(reader: asyncio.StreamReader) -> Received | None:
    """The next request of a connection; None when it is closed."""
    with contextlib.suppress(asyncio.IncompleteReadError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        line, *rest = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        return Received(line.split(" ")[1], headers, json.loads(content or b"{}"))
    return None
