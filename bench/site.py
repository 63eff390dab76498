"""The ASGI application that the measurements serve: crossmemory's socket, and a plain one to compare it with."""

from typing import Any
from urllib.parse import parse_qs

import django
from django.urls import path

django.setup()

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402  (needs the app registry)
from channels.routing import URLRouter  # noqa: E402
from django.db.backends.signals import connection_created  # noqa: E402

from crossmemory import db  # noqa: E402
from crossmemory.asgi import with_crossmemory  # noqa: E402
from crossmemory.attach import frames, reader  # noqa: E402
from crossmemory.attach.authentication import aauthenticate  # noqa: E402
from crossmemory.attach.consumer import find  # noqa: E402
from crossmemory.conf import settings  # noqa: E402
from crossmemory.models import Conversation  # noqa: E402

_ready: dict[str, list[str]] = {}


class PlainConsumer(AsyncWebsocketConsumer):
    """Behind the same authentication, sends the frames of a full replay as they are, from memory.

    They are made by the first client that asks for them.
    """

    async def connect(self) -> None:
        await self.accept(frames.SUBPROTOCOL)
        await aauthenticate(self.scope)
        uid = str(self.scope["url_route"]["kwargs"]["conversation"])
        if uid not in _ready:
            _ready[uid] = await db.run(replay, uid)
        for text in _ready[uid]:
            await self.send(text_data=text)


def replay(uid: str) -> list[str]:
    """The frames of a full replay, made by the app's own code."""
    conversation = Conversation.objects.get(uid=uid)
    snapshot = reader.snapshot(conversation.pk)
    assert snapshot is not None
    packed = frames.Replay(uid, snapshot, "full", settings.MAX_FRAME_BYTES, "/events/{seq}/")
    made, after = [], 0
    while after < snapshot.head:
        rows = reader.page(conversation.pk, after, snapshot.head, snapshot.mean_bytes)
        made += packed.add(rows)
        after = rows[-1][0]
    return [*made, *packed.finish()]


class OneQueryConsumer(AsyncWebsocketConsumer):
    """Behind the same authentication, looks the conversation up, and sends what an attach with this cursor sends."""

    async def connect(self) -> None:
        await self.accept(frames.SUBPROTOCOL)
        user = await aauthenticate(self.scope)
        uid = str(self.scope["url_route"]["kwargs"]["conversation"])
        conversation = await db.run(find, user, uid)
        assert conversation is not None
        cursor = frames.parse_cursor(parse_qs(self.scope["query_string"].decode()).get("cursor", [""])[0])
        assert cursor is not None
        key = f"{uid} {cursor.seq}"
        if key not in _ready:
            _ready[key] = await db.run(resumed, uid, cursor)
        for text in _ready[key]:
            await self.send(text_data=text)


def resumed(uid: str, cursor: frames.Cursor) -> list[str]:
    """The frames of a resume, made by the app's own code."""
    conversation = Conversation.objects.get(uid=uid)
    snapshot = reader.snapshot(conversation.pk)
    assert snapshot is not None
    packed = frames.Replay(uid, snapshot, "resume", settings.MAX_FRAME_BYTES, "/events/{seq}/")
    rows = reader.page(conversation.pk, cursor.seq, snapshot.head, snapshot.mean_bytes)
    return [*packed.add(rows), *packed.finish()]


_plain = URLRouter(
    [
        path("ws/plain/<uuid:conversation>/", PlainConsumer.as_asgi()),
        path("ws/query/<uuid:conversation>/", OneQueryConsumer.as_asgi()),
    ]
)

_queries = 0


def _count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
    global _queries
    _queries += 1
    return execute(sql, params, many, context)


def _watch(connection: Any, **_: Any) -> None:
    connection.execute_wrappers.append(_count)


connection_created.connect(_watch)


async def _site(scope: Any, receive: Any, send: Any) -> None:
    if scope["type"] == "websocket":
        await _plain(scope, receive, send)
    elif scope["type"] == "http":  # how many queries this process has made
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
        await send({"type": "http.response.body", "body": str(_queries).encode()})


application = with_crossmemory(_site)
