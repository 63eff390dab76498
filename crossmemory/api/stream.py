"""The log as Server-Sent Events: the frames of the socket over plain HTTP, one way, under ASGI.

The view is async and driven by the same follower as sockets: somebody who waits holds neither a thread nor a database
connection of the app. (Django itself keeps one idle thread per request as soon as a middleware needs one.) Who asks is
decided by a DRF view, at the beginning and again with every ping.
"""

import asyncio
import contextlib
import copy
import logging
import re
from collections.abc import AsyncIterator

from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from crossmemory import db
from crossmemory.api import errors
from crossmemory.api.base import ApiView, non_atomic
from crossmemory.attach import frames
from crossmemory.attach.follower import GONE, TOO_SLOW, Closed, Follower
from crossmemory.conf import MIB, settings
from crossmemory.models import Conversation

logger = logging.getLogger(__name__)

RETRY_MS = 2000  # after which a browser connects again

# A server that does not wait for a slow reader (daphne) buffers what it is given: no more than this in one stream.
# Then it ends, and the reader, who has read everything by then, connects again after what it has.
_MOST_BYTES = 16 * MIB

_KIND = re.compile(r'\{"type":"(\w+)"')
_EVENT = re.compile(r'\{"type":"event","epoch":"([\w-]+)","event":\{"seq":(\d+)')
_BATCH = re.compile(r'"epoch":"([\w-]+)",.*?"last":(true|false),"from":\w+,"to":(\w+),"head":(\d+)')


class Allowed(HttpResponse):
    """Who asks may read this conversation."""

    def __init__(self, conversation: Conversation, user_key: object) -> None:
        super().__init__(content_type="text/event-stream")
        self.conversation, self.user_key = conversation, user_key


class StreamDoor(ApiView):
    """Whether somebody may follow a conversation, and how."""

    def get(self, request: Request, uid: str) -> HttpResponseBase:
        conversation = self.attachable(uid)
        if not isinstance(request._request, ASGIRequest):
            detail = _("Server-Sent Events need a server that speaks ASGI; poll events/?wait= instead.")
            return errors.refusal(406, "needs_asgi", detail)
        return Allowed(conversation, request.user.pk)


_door = StreamDoor.as_view()


def _ask(request: HttpRequest, uid: str) -> HttpResponseBase:
    response: HttpResponseBase = _door(request, uid=uid)
    render = getattr(response, "render", None)
    return render() if callable(render) else response


async def event_stream(request: HttpRequest, uid: str) -> HttpResponseBase:
    """`?cursor=epoch:seq`, or `Last-Event-ID`, which wins: browsers send it when they connect again."""
    answer = await db.run(_ask, request, uid)
    if not isinstance(answer, Allowed) or request.method != "GET":
        return answer
    cursor = request.headers.get("Last-Event-ID") or request.GET.get("cursor")
    stream = Stream(request, answer, frames.parse_cursor(cursor))
    response = StreamingHttpResponse(stream.chunks(), content_type="text/event-stream")
    patch_cache_control(response, private=True, no_store=True, no_transform=True)
    response["X-Accel-Buffering"] = "no"  # nginx would keep it all back
    return response


event_stream = non_atomic(csrf_exempt(event_stream))


class Stream:
    """One client that follows over HTTP."""

    def __init__(self, request: HttpRequest, door: Allowed, cursor: frames.Cursor | None) -> None:
        self._request, self._door = request, door
        # One frame at a time: the follower goes on when the server took the one before.
        self._frames: asyncio.Queue[str | None] = asyncio.Queue(1)
        self._follower = Follower(
            door.conversation,
            cursor,
            self._hand,
            max_frame=settings.MAX_FRAME_BYTES,
            still_allowed=self._check_allowed,
        )

    async def chunks(self) -> AsyncIterator[bytes]:
        """What the response is made of, until the client leaves or may no longer read."""
        yield f"retry: {RETRY_MS}\n\n".encode()
        following = asyncio.create_task(self._follow())
        sent = 0
        try:
            while sent < _MOST_BYTES and (frame := await self._frames.get()) is not None:
                chunk = event(frame)
                yield chunk
                # Asked for more: the server has sent it. There is no other sign of life in this direction.
                self._follower.sign_of_life()
                sent += len(chunk)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)

    async def _hand(self, frame: str) -> None:
        """Give the server a frame; it takes it when the client has read what came before. Raises Closed."""
        try:
            async with asyncio.timeout(settings.PONG_TIMEOUT_SECONDS):
                await self._frames.put(frame)
        except TimeoutError:
            raise Closed(TOO_SLOW) from None

    async def _follow(self) -> None:
        try:
            await self._follower.follow()
        except Closed as closed:
            if closed.code == TOO_SLOW:
                logger.info("A reader of conversation %s was too slow.", self._door.conversation.uid)
        except Exception:
            logger.exception("Following conversation %s failed; the client will resume.", self._door.conversation.uid)
        await self._frames.put(None)

    async def _check_allowed(self) -> None:
        """Whoever is signed out, deactivated or loses access is cut off within one ping. Raises Closed."""
        answer = await db.run(_ask_again, self._request, str(self._door.conversation.uid))
        if isinstance(answer, Allowed):
            if answer.user_key == self._door.user_key:
                return
        elif answer.status_code not in (401, 403, 404):
            return  # throttled, or the database is away: nobody can be told apart now
        raise Closed(GONE)


def _ask_again(request: HttpRequest, uid: str) -> HttpResponseBase:
    """The same question, with session and user read anew."""
    fresh = copy.copy(request)
    for known in ("_cached_user", "_acached_user", "auth"):
        with contextlib.suppress(AttributeError):
            delattr(fresh, known)
    session = getattr(request, "session", None)
    if session is None:
        fresh.user = AnonymousUser()
    else:
        fresh.session = type(session)(session.session_key)
        fresh.user = get_user(fresh)
    return _ask(fresh, uid)


def event(frame: str) -> bytes:
    """A frame of the socket as an event; `id` only where a client can go on after it."""
    kind = found[1] if (found := _KIND.match(frame)) else "message"
    stands = _stands(kind, frame)
    place = f"id: {stands}\n" if stands else ""
    return f"event: {kind}\n{place}data: {frame}\n\n".encode()


def _stands(kind: str, frame: str) -> str:
    """Where a client stands that has this frame and those before it. (The frame's head says it; its text is long.)"""
    if kind == "event" and (found := _EVENT.match(frame)):
        return f"{found[1]}:{found[2]}"
    if kind == "structured_replay" and (found := _BATCH.search(frame, 0, 1024)):
        epoch, last, to, head = found.groups()
        return f"{epoch}:{head if last == 'true' else to}"
    return ""
