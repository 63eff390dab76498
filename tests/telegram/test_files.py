"""Files through the real client, from a server that holds some and has its moods."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest

from crossmemory.surfaces import FileTrouble, RemoteFile
from crossmemory.surfaces.telegram import client, files

SECRET = "a-token-that-nobody-may-see"
TOKEN = f"7000000001:{SECRET}"
CONTENT = b"\xff\xd8\xff some picture"


class Server:
    """The two addresses that give out files: https://core.telegram.org/bots/api#getfile"""

    def __init__(self) -> None:
        self.answers: list[Any] = []  # for getFile: an object, a status, or None to close the connection
        self.downloads: list[Any] = []  # for the file: bytes, a status, or None
        self.asked: list[str] = []
        self.base = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.lower().splitlines() if line.startswith("content-length:")), 0)
        await reader.readexactly(length)
        path = head.split()[1]
        self.asked.append(path)
        answer = self.downloads.pop(0) if path.startswith("/file/") else self.answers.pop(0)
        if answer is None:
            writer.close()
            return
        status = answer if isinstance(answer, int) else 200
        if isinstance(answer, dict):
            status = answer.get("error_code", 200)
        body = answer if isinstance(answer, bytes) else json.dumps(answer if isinstance(answer, dict) else {}).encode()
        writer.write(f"HTTP/1.1 {status} X\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n".encode() + body)
        await writer.drain()
        writer.close()


def holds(size: int = len(CONTENT)) -> dict[str, Any]:
    return {
        "ok": True,
        "result": {"file_id": "f", "file_unique_id": "u", "file_size": size, "file_path": "photos/1.jpg"},
    }


def refuses(description: str, code: int = 400) -> dict[str, Any]:
    return {"ok": False, "error_code": code, "description": description}


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    made.base = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    yield made
    listening.close()


async def fetched(server: Server, size: int | None = None) -> bytes:
    bot = client.make_bot(TOKEN, server.base)
    try:
        return await files.fetch(bot, RemoteFile(0, "f", bytes=size))
    finally:
        await client.close(bot)


async def test_a_file_is_fetched(server: Server) -> None:
    server.answers, server.downloads = [holds()], [CONTENT]
    assert await fetched(server) == CONTENT
    assert [path.rpartition("/")[2] for path in server.asked] == ["getFile", "1.jpg"]


async def test_what_is_too_large_is_not_even_asked_for(server: Server) -> None:
    with pytest.raises(FileTrouble) as trouble:
        await fetched(server, 62914560)
    assert trouble.value.code == "too_large"
    assert server.asked == []


@pytest.mark.parametrize(
    ("answers", "downloads", "code"),
    [
        ([refuses("Bad Request: file is too big")], [], "too_large"),
        ([holds(21 * 1024 * 1024)], [], "too_large"),
        ([holds(5)], [b"x" * (21 * 1024 * 1024)], "too_large"),
        ([refuses("Bad Request: wrong file_id or the file is temporarily unavailable")], [], "failed"),
        ([refuses("Unauthorized", 401)], [], "failed"),
        ([500, 502], [], "failed"),
        ([None, None], [], "failed"),
        ([holds(), holds()], [404, 404], "failed"),
        ([{"ok": True, "result": {"file_id": "f", "file_unique_id": "u"}}], [], "failed"),
    ],
    ids=["too-big", "says-large", "is-large", "gone", "token", "5xx", "reset", "404", "no-path"],
)
async def test_what_goes_wrong_has_a_name(
    server: Server, caplog: pytest.LogCaptureFixture, answers: list[Any], downloads: list[Any], code: str
) -> None:
    caplog.set_level(logging.DEBUG)
    server.answers, server.downloads = answers, downloads
    with pytest.raises(FileTrouble) as trouble:
        await fetched(server)
    assert trouble.value.code == code
    assert trouble.value.__cause__ is None
    assert SECRET not in caplog.text
    assert SECRET not in repr(trouble.value)


@pytest.mark.parametrize("words", [f"GET /bot{TOKEN}/x", f"GET /file/bot7000000001%3A{SECRET}/x", f"secret {SECRET}"])
def test_no_form_of_the_token_reaches_a_log(caplog: pytest.LogCaptureFixture, words: str) -> None:
    client.make_bot(TOKEN, "http://127.0.0.1:1")
    for name in ("httpx", "httpcore", "telegram.Bot"):
        logging.getLogger(name).warning("%s and %s", words, 1)
    assert SECRET not in caplog.text
    assert "<token>" in caplog.text


async def test_a_hiccup_is_tried_again(server: Server) -> None:
    server.answers, server.downloads = [502, holds(), holds()], [CONTENT]
    assert await fetched(server) == CONTENT
