"""A client of the whole application, without a socket: what a site serves, and who is signed in there."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from channels.testing import WebsocketCommunicator
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore

from crossmemory import db
from crossmemory.asgi import with_crossmemory
from tests.support.frames import checked


async def site(scope: Any, receive: Any, send: Any) -> None:
    raise AssertionError(f"the site was asked for {scope['path']}")


application = with_crossmemory(site)


def signed_in(user: Any) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


class Client(WebsocketCommunicator):
    limit = 256 * 1024  # bytes of a frame

    async def frame(self, timeout: float = 5) -> dict[str, Any]:
        """The next frame that is not a ping; its size is within the bound."""
        while True:
            text = await self.receive_from(timeout)
            assert len(text.encode()) <= self.limit
            frame = checked(text)
            if frame["type"] == "ping" and "n" in frame:
                await self.send_json_to({"type": "pong", "n": frame["n"]})
            elif frame["type"] != "ping":
                return frame

    async def replay(self) -> list[dict[str, Any]]:
        """All batches of an envelope; events are numbered without holes."""
        batches = []
        while True:
            batch = await self.frame()
            assert batch["type"] == "structured_replay"
            assert batch["batch"] == len(batches)
            batches.append(batch)
            if batch["last"]:
                assert len({each["replay_id"] for each in batches}) == 1
                return batches

    async def close_code(self) -> int:
        while True:
            output = await self.receive_output(5)
            if output["type"] == "websocket.close":
                return int(output["code"])


@asynccontextmanager
async def attach(
    user: Any, conversation: Any, query: str = "", headers: list[tuple[bytes, bytes]] | None = None
) -> AsyncIterator[Client]:
    if headers is None:
        key = await db.run(signed_in, user)
        headers = [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", f"sessionid={key}".encode())]
    uid = getattr(conversation, "uid", conversation)
    client = Client(application, f"/ws/crossmemory/conversations/{uid}/{query}", headers, ["crossmemory.v1"])
    connected, subprotocol = await client.connect(5)
    assert connected
    assert subprotocol == "crossmemory.v1"
    try:
        yield client
    finally:
        await client.disconnect()
