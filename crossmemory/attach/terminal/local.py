"""The socket without a network: the same consumer, driven in this process."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser

from crossmemory import db
from crossmemory.attach.authentication import NotSignedIn
from crossmemory.attach.consumer import AttachConsumer
from crossmemory.models import Conversation

DETACHED = 1000

_MOST_WAITING = 100  # client frames that wait to be carried out


class LocalConsumer(AttachConsumer):
    """Whoever can run the site's commands needs no password; the account must be there and active."""

    async def authenticate(self) -> AbstractBaseUser:
        user = await db.run(_again, self.scope["user"])
        if user is None:
            raise NotSignedIn
        return user

    def _within_rate(self) -> bool:
        return True  # what is piped in waits its turn instead


def _again(user: AbstractBaseUser) -> AbstractBaseUser | None:
    found = get_user_model()._default_manager.using(db.write_alias(type(user))).filter(pk=user.pk).first()
    return found if found is not None and found.is_active else None


class Attachment:
    """One conversation, attached: frames of the server go to `deliver`, frames of the client to `send`."""

    def __init__(
        self, user: AbstractBaseUser, conversation: Conversation, deliver: Callable[[str], Awaitable[None]]
    ) -> None:
        self._user, self._conversation, self._deliver = user, conversation, deliver
        self._begin()

    def _begin(self) -> None:
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._room = asyncio.Semaphore(_MOST_WAITING)
        self._code = DETACHED

    async def run(self, cursor: str) -> int:
        """Attach after a cursor, and follow. Returns the close code: DETACHED, or as in `attach.consumer`."""
        self._begin()
        self._inbox.put_nowait({"type": "websocket.connect"})
        scope = {
            "type": "websocket",
            "headers": [],
            "subprotocols": [],
            "query_string": f"cursor={cursor}".encode(),
            "url_route": {"kwargs": {"conversation": str(self._conversation.uid)}},
            "user": self._user,
        }
        await LocalConsumer.as_asgi()(scope, self._taken, self._sent)
        return self._code

    async def send(self, frame: str) -> None:
        """Hand in a client's frame; waits while many wait."""
        await self._room.acquire()
        self._inbox.put_nowait({"type": "websocket.receive", "text": frame})

    def detach(self) -> None:
        self._inbox.put_nowait({"type": "websocket.disconnect", "code": DETACHED})

    async def _taken(self) -> dict[str, Any]:
        message = await self._inbox.get()
        if message["type"] == "websocket.receive":
            self._room.release()
        return message

    async def _sent(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            await self._deliver(message["text"])
            if message["text"].startswith('{"type":"ping","n":'):  # it was written out: that is the sign of life
                await self.send(json.dumps({"type": "pong", "n": json.loads(message["text"])["n"]}))
        elif message["type"] == "websocket.close":
            self._code = message["code"]
            self.detach()
