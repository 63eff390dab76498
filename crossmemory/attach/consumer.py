"""The socket: attaches a client to one conversation, and carries out what it asks for."""

import asyncio
import contextlib
import json
import logging
import time
from typing import Any, TypeGuard
from urllib.parse import parse_qs

from channels.generic.websocket import AsyncWebsocketConsumer
from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError, InterfaceError
from django.utils.translation import gettext

from crossmemory import db, intake, log, permission, turns
from crossmemory.attach import frames
from crossmemory.attach.authentication import NotSignedIn, OriginRefused, aauthenticate
from crossmemory.attach.follower import GONE, Closed, Follower
from crossmemory.budget import OverBudget
from crossmemory.conf import KIB, primary_surface, settings
from crossmemory.events import Actor
from crossmemory.exceptions import CrossmemoryError, Invalid
from crossmemory.models import Conversation, Owner

logger = logging.getLogger(__name__)

NOT_SIGNED_IN = 4501
NOT_ALLOWED = 4503
PROTOCOL = 4510
RESYNC = 4009

_LEAST_CLIENT_FRAME = 512 * KIB  # bytes that every site takes as one frame
_ESCAPED = 6  # bytes that a byte of text takes at most in JSON
_ABUSES = 20  # bad frames before the socket is closed
_BURST = 10  # seconds' worth of frames that may come at once
_CLIENT_ID = 128


class AttachConsumer(AsyncWebsocketConsumer):
    """One client and one conversation. Reading is the follower's task; this handles the client's frames in turn."""

    async def connect(self) -> None:
        offered = self.scope.get("subprotocols", [])
        self._closed = False
        self._task: asyncio.Task[None] | None = None
        self._frames, self._counted_at, self._abuses = 0.0, time.monotonic(), 0
        self._checked_at = time.monotonic()
        try:
            # Accepted first: a refusal before that reaches the client as a bare HTTP 403.
            await self.accept(frames.SUBPROTOCOL if frames.SUBPROTOCOL in offered else None)
        except OSError:
            self._closed = True
            return None
        try:
            user = await self.authenticate()
            self._know(user)
            conversation = await db.run(find, user, self.scope["url_route"]["kwargs"]["conversation"])
        except NotSignedIn:
            return await self._leave(NOT_SIGNED_IN)
        except OriginRefused:
            return await self._leave(NOT_ALLOWED)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("A client cannot be attached now: %r", error)
            return await self._leave(RESYNC)
        if conversation is None:
            return await self._leave(NOT_ALLOWED)
        self.conversation: Conversation = conversation
        query = parse_qs(self.scope.get("query_string", b"").decode("latin1"))
        self._follower = Follower(
            self.conversation,
            frames.parse_cursor(query.get("cursor", [""])[0]),
            self._send,
            max_frame=_max_frame(query.get("max_frame", [""])[0]),
            still_allowed=self._check_allowed,
        )
        self._task = asyncio.create_task(self._follow())
        return None

    async def authenticate(self) -> AbstractBaseUser:
        """Who attaches, looked up anew each time. Raises NotSignedIn, OriginRefused."""
        return await aauthenticate(self.scope)

    async def disconnect(self, code: int) -> None:
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self._closed or self._task is None:
            return None
        if not self._within_rate():
            return await self._bad("too_many", "Too many frames at once: wait a moment.")
        if text_data is None:
            return await self._bad("binary", "Frames are JSON text.")
        most = max(_LEAST_CLIENT_FRAME, _ESCAPED * settings.MAX_TEXT_BYTES + 16 * KIB)
        if len(text_data) > most:
            return await self._bad("too_large", f"A frame has at most {most:,} bytes.")
        try:
            frame = json.loads(text_data)
        except (ValueError, RecursionError):
            return await self._bad("malformed", "This is not JSON.")
        if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
            return await self._bad("malformed", "A frame is an object with a type.")
        handler = self._HANDLERS.get(frame["type"])
        if handler is None:
            return None  # additive protocol: what is not known is ignored
        try:
            return await handler(self, frame)
        except ObjectDoesNotExist:
            return None  # deleted meanwhile, as the follower is about to tell
        except Closed as closed:
            return await self._leave(closed.code)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("A client's %s failed: %r", frame["type"], error)
            return await self._reply(
                frames.frame("error", code="unavailable", detail="The database is away.", re=frame["type"])
            )

    async def _message_send(self, frame: dict[str, Any]) -> None:
        client_id, text = frame.get("client_id"), frame.get("text")
        if not isinstance(client_id, str) or not 1 <= len(client_id) <= _CLIENT_ID:
            return await self._bad("invalid", f"client_id is a string of 1 to {_CLIENT_ID} characters.")
        try:
            if not isinstance(text, str):
                raise Invalid("text is a string.")
            await self._check_recently()
            stored = await db.run(
                intake.say_on_the_page,
                self.conversation,
                text,
                author=self._actor,
                client_id=client_id,
                parts=frame.get("parts"),
            )
        except CrossmemoryError as error:
            facts = error.facts if isinstance(error, OverBudget) else {}
            return await self._nack(client_id, error.code, gettext(str(error)), retryable=False, **facts)
        except (DatabaseError, InterfaceError) as error:
            logger.warning("A message could not be stored: %r", error)
            return await self._nack(client_id, "unavailable", gettext("It could not be saved now."), retryable=True)
        warning = stored.used.warning() if stored.used else None
        more = {"budget": warning} if warning else {}
        ack = frames.frame("ack", client_id=client_id, seq=stored.seq, duplicate=stored.duplicate, **more)
        return await self._reply(ack)

    async def _run_stop(self, frame: dict[str, Any]) -> None:
        await self._check_recently()
        await turns.arequest_stop(self.conversation, self._actor)

    async def _read(self, frame: dict[str, Any]) -> None:
        seq = frame.get("seq")
        if not _is_whole(seq):
            return await self._bad("invalid", "seq is a whole number.")
        await self._check_recently()
        await db.run(log.mark_read, self.conversation, seq)
        return None

    async def _partial_get(self, frame: dict[str, Any]) -> None:
        message, start = frame.get("message"), frame.get("from", 0)
        if not isinstance(message, str) or not _is_whole(start):
            return await self._bad("invalid", "partial.get names a message and a whole number.")
        return self._follower.repeat(message, start)

    async def _approval_decide(self, frame: dict[str, Any]) -> None:
        call, decision, args_hash = (frame.get(name) for name in ("tool_call", "decision", "args_hash"))
        if decision not in ("approved", "denied") or not isinstance(call, str) or not isinstance(args_hash, str):
            return await self._bad("invalid", "approval.decide names a tool call, a decision and the arguments' hash.")
        await self._check()  # a decision is rare and may weigh much: nobody's is taken on trust
        try:
            await intake.adecide(
                self.conversation,
                call,
                decision,
                args_hash,
                by=self._actor,
                where=primary_surface(),
                signed_in_at=self._signed_in_at,
            )
        except CrossmemoryError as error:
            facts = error.facts if isinstance(error, turns.AlreadyDecided) else {}
            detail = gettext(str(error))
            return await self._reply(
                frames.frame("nack", tool_call=call, code=error.code, detail=detail, retryable=False, **facts)
            )
        return await self._reply(frames.frame("ack", tool_call=call, decision=decision))

    async def _ping(self, frame: dict[str, Any]) -> None:
        """A page that wakes asks whether the socket still lives."""
        n = frame.get("n")
        await self._reply(frames.frame("pong", **({"n": n} if _is_whole(n) else {})))

    async def _pong(self, frame: dict[str, Any]) -> None:
        """The client has read all before the ping of this number, which nobody else can know."""
        self._follower.hear(frame.get("n"))

    _HANDLERS = {
        "message.send": _message_send,
        "run.stop": _run_stop,
        "read": _read,
        "partial.get": _partial_get,
        "approval.decide": _approval_decide,
        "pong": _pong,
        "ping": _ping,
    }

    @property
    def _actor(self) -> Actor:
        return Actor("user", str(self._user_key))

    async def _follow(self) -> None:
        try:
            await self._follower.follow()
        except Closed as closed:
            await self._leave(closed.code)
        except asyncio.CancelledError:
            raise
        except Exception:
            logger.exception("Following conversation %s failed; the client will resume.", self.conversation.uid)
            await self._leave(RESYNC)

    async def _check_allowed(self) -> None:
        """Whoever is signed out, deactivated or loses access is closed within one ping."""
        with contextlib.suppress(DatabaseError, InterfaceError):  # away: the next ping asks again
            await self._check()

    async def _check_recently(self) -> None:
        """Before a command that changes something: the right to it was seen at most RECHECK_SECONDS ago."""
        if time.monotonic() - self._checked_at >= settings.RECHECK_SECONDS:
            await self._check()

    async def _check(self) -> None:
        """Sign-in and access, read anew. Raises Closed; DatabaseError when nobody can be told apart now."""
        began = time.monotonic()
        try:
            user = await self.authenticate()
        except (NotSignedIn, OriginRefused):
            raise Closed(NOT_SIGNED_IN) from None
        if user.pk != self._user_key:
            raise Closed(NOT_SIGNED_IN)
        if await db.run(find, user, str(self.conversation.uid)) is None:
            raise Closed(GONE)
        self._checked_at = began
        self._know(user)

    def _know(self, user: AbstractBaseUser) -> None:
        """What is needed of who attached: there are many sockets, and a user's row is large."""
        self._user_key, self._signed_in_at = user.pk, getattr(user, "last_login", None)

    def _within_rate(self) -> bool:
        now = time.monotonic()
        self._frames = max(0.0, self._frames - (now - self._counted_at) * settings.FRAMES_PER_SECOND) + 1
        self._counted_at = now
        return self._frames <= settings.FRAMES_PER_SECOND * _BURST

    async def _bad(self, code: str, detail: str) -> None:
        self._abuses += 1
        await self._reply(frames.frame("error", code=code, detail=detail))
        if self._abuses >= _ABUSES:
            await self._leave(PROTOCOL)

    async def _nack(self, client_id: str, code: str, detail: str, *, retryable: bool, **facts: Any) -> None:
        told = {"client_id": client_id, "code": code, "detail": detail, "retryable": retryable, **facts}
        await self._reply(frames.frame("nack", **told))

    async def _reply(self, text: str) -> None:
        """An answer to a frame of the client's, whom it does not cost less to read than what it is sent unasked."""
        self._follower.count(text)
        await self._send(text)

    async def _send(self, text: str) -> None:
        if not self._closed:
            try:
                await self.send(text_data=text)
            except OSError:  # the client is gone, says the server (ASGI specification, "Disconnected Client")
                self._closed = True

    async def _leave(self, code: int) -> None:
        if not self._closed:
            self._closed = True
            with contextlib.suppress(OSError):
                await self.close(code=code)


def find(user: AbstractBaseUser, uid: str) -> Conversation | None:
    """The user's conversation, or None: somebody else's, or one with an agent that this user may not use (any more),
    looks like one that is not there."""
    owner = Owner.of(user, agent=None)
    found = Conversation.objects.using(db.write_alias(Conversation)).of(owner).filter(uid=uid).first()
    return found if found is not None and permission.may_use(user, found.agent) else None


def _is_whole(value: Any) -> TypeGuard[int]:
    """A whole number that every client can hold: below 2^53."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _max_frame(asked: str) -> int:
    """The frame size of this client: what it asked for, between the least and the site's."""
    if not asked.isdecimal():
        return int(settings.MAX_FRAME_BYTES)
    return max(frames.MIN_FRAME_BYTES, min(int(asked[:12]), settings.MAX_FRAME_BYTES))
