"""One attached client: a single task that reads committed rows after its own cursor, and sends them.

Replay is merely its beginning, so there is no second path and nothing to merge.
"""

import asyncio
import logging
import random
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable

from django.db import DatabaseError, InterfaceError
from django.urls import NoReverseMatch, reverse

from crossmemory import db
from crossmemory.attach import frames, reader
from crossmemory.attach.frames import Cursor, Replay, Snapshot
from crossmemory.attach.sharing import shared
from crossmemory.broadcast import Listener
from crossmemory.conf import MIB, settings
from crossmemory.events import timestamp
from crossmemory.log.entries import now
from crossmemory.models import Conversation

logger = logging.getLogger(__name__)

GONE = 4504
TOO_SLOW = 4008

_UNSEEN_BYTES = MIB  # sent without a sign of life from the client, then it is asked for one
_MOST_LACKING = 16  # messages whose text is to be sent again
_RETRY_SECONDS = 1.0  # while the database is away


class Closed(Exception):
    """The socket must be closed with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Follower:
    """Replays a conversation's log to one client, then follows it until cancelled. Raises Closed."""

    __slots__ = (
        "_asked",
        "_bell",
        "_cursor",
        "_epoch",
        "_head",
        "_lacking",
        "_send_text",
        "_seq",
        "_sign",
        "_still_allowed",
        "_unseen",
        "_writing",
        "conversation",
        "max_frame",
    )

    def __init__(
        self,
        conversation: Conversation,
        cursor: Cursor | None,
        send: Callable[[str], Awaitable[None]],
        *,
        max_frame: int,
        still_allowed: Callable[[], Awaitable[None]],
    ) -> None:
        self.conversation = conversation
        self.max_frame = max_frame
        self._cursor = cursor
        self._send_text = send
        self._still_allowed = still_allowed
        self._epoch = ""
        self._seq = 0
        self._head = 0
        self._writing: dict[str, int] = {}  # messages being written: code points sent
        self._lacking: dict[str, int] = {}  # messages being written: the code point to send again from
        self._unseen = 0  # bytes
        self._asked: int | None = None  # the number of a ping without its pong
        self._sign: asyncio.Future[None] | None = None  # awaited while there is such a ping
        self._bell: Listener | None = None

    def sign_of_life(self) -> None:
        """The client is there, and has read what came before."""
        self._unseen, self._asked = 0, None
        if self._sign is not None and not self._sign.done():
            self._sign.set_result(None)

    def hear(self, n: object) -> None:
        """A pong: a sign of life when its number is the ping's."""
        if self._asked is not None and n == self._asked:
            self.sign_of_life()

    def count(self, text: str) -> None:
        """Something else was sent to the client: to read that too takes a sign."""
        self._unseen += len(text)
        if self._unseen >= _UNSEEN_BYTES and self._bell is not None:
            self._bell.ring()

    def repeat(self, message: str, start: int) -> None:
        """The client lacks text of a message from a code point on: it comes in its turn, if it is being written."""
        if self._bell is not None and len(self._lacking) < _MOST_LACKING:
            self._lacking[message] = min(start, self._lacking.get(message, start))
            self._bell.ring()

    async def follow(self) -> None:
        async with Listener(self.conversation.pk) as bell:
            self._bell = bell
            await self._attach()
            ping_at = self._next_ping()
            while True:
                if await bell.wait(max(0.0, ping_at - time.monotonic())):
                    await self._patiently(self._news)
                if self._unseen >= _UNSEEN_BYTES:
                    await self._ask_for_a_sign()
                if time.monotonic() >= ping_at:
                    await self._still_allowed()
                    await self._send(frames.frame("ping", head=self._head, at=timestamp(now())))
                    await self._patiently(self._news)
                    ping_at = self._next_ping()

    async def _patiently(self, step: Callable[[], Awaitable[None]]) -> None:
        """Read; while the database is away the socket stays, and the client is told later."""
        troubled = False
        while True:
            try:
                return await step()
            except (DatabaseError, InterfaceError) as error:
                if not troubled:
                    logger.warning("Conversation %s cannot be read for a client: %r", self.conversation.uid, error)
                troubled = True
                await asyncio.sleep(_RETRY_SECONDS * random.uniform(0.5, 1.5))

    async def _attach(self) -> None:
        await self._patiently(self._replay)
        await self._patiently(self._news)

    async def _replay(self) -> None:
        """The envelope: everything up to the head of one snapshot; again from the start if trimming overtakes it."""
        while True:
            snapshot = await self._snapshot()
            mode = snapshot.mode(self._cursor)
            after = self._cursor.seq if mode != "full" and self._cursor else 0
            replay = Replay(
                conversation=str(self.conversation.uid),
                snapshot=snapshot,
                mode=mode,
                max_frame=self.max_frame,
                event_url=self._event_url(),
            )
            self._epoch, self._head = snapshot.epoch, snapshot.head
            if await self._send_pages(replay, snapshot, after):
                break
            self._cursor = None
        for frame in replay.finish():
            await self._send(frame)
        self._seq = snapshot.head
        self._cursor = Cursor(snapshot.epoch, snapshot.head)
        self._writing = {partial["message"]: len(partial["text"]) for partial in replay.partials}

    async def _send_pages(self, replay: Replay, snapshot: Snapshot, after: int) -> bool:
        """Send the events after a seq; False when some of them were trimmed away meanwhile.

        The next page is read while one is sent.
        """
        reading: asyncio.Task[list[reader.Row]] | None = self._page(snapshot, after)
        try:
            while reading is not None:
                rows = await reading
                if not reader.whole(rows, after, snapshot.floor):
                    return False
                after = rows[-1][0]
                reading = self._page(snapshot, after)
                for frame in replay.add(rows):
                    await self._send(frame)
        finally:
            if reading is not None:
                reading.cancel()
        return True

    def _page(self, snapshot: Snapshot, after: int) -> "asyncio.Task[list[reader.Row]] | None":
        if after >= snapshot.head:
            return None
        return asyncio.create_task(db.run(reader.page, self.conversation.pk, after, snapshot.head, snapshot.mean_bytes))

    async def _snapshot(self) -> Snapshot:
        snapshot = await db.run(reader.snapshot, self.conversation.pk)
        if snapshot is None:
            raise Closed(GONE)
        return snapshot

    async def _news(self) -> None:
        """What was committed since: events one by one, then text of messages being written."""
        while True:
            news = await shared().read(reader.news, self.conversation.pk, self._seq)
            if news is None:
                raise Closed(GONE)
            if news.epoch != self._epoch or news.floor - 1 > self._seq:
                self._cursor = None
                await self._replay()  # history was rewritten, or trimmed past this client: it rebuilds
                continue
            self._head = news.head
            await self._events(news.rows)
            if self._seq >= news.head:
                break
        for message in list(self._writing):
            await self._text(message)
        for message in self._lacking.keys() - self._writing.keys():
            del self._lacking[message]  # nobody writes it, or not any more

    async def _events(self, rows: Iterable[reader.Row]) -> None:
        for row in rows:
            await self._send(frames.event(self._epoch, row, self.max_frame, self._event_url()))
            self._seq = row[0]
            self._note_writing(row[1], row[2])

    def _note_writing(self, kind: str, body: str) -> None:
        """Which messages are being written: their text is looked for with every ring."""
        if kind == "message.started":
            self._writing[_message(body)] = 0
        elif kind in ("message.completed", "message.interrupted") and self._writing:
            self._writing.pop(_message(body), None)

    async def _text(self, message: str) -> None:
        sent = self._writing[message]
        start = min(sent, self._lacking.pop(message, sent))
        found = await shared().read(reader.written, self.conversation.pk, message, sent if start == sent else 0)
        if found is None:
            return
        at, text = found
        text = text[max(0, start - at) :]
        at = max(at, start)
        for frame in frames.deltas(message, at, text, self.max_frame):
            await self._send(frame)
        self._writing[message] = max(sent, at + len(text))

    async def _send(self, text: str) -> None:
        await self._send_text(text)
        self._unseen += len(text) if text.isascii() else len(text.encode())
        if self._unseen >= _UNSEEN_BYTES:
            await self._ask_for_a_sign()

    async def _ask_for_a_sign(self) -> None:
        """Go on only when the client has read what it was sent: memory must not depend on the server's buffers."""
        self._asked = secrets.randbelow(2**53)  # a guess would be a client that has read nothing
        self._sign = asyncio.get_running_loop().create_future()
        await self._send_text(frames.frame("ping", n=self._asked, head=self._head, at=timestamp(now())))
        try:
            async with asyncio.timeout(settings.PONG_TIMEOUT_SECONDS):
                await self._sign
        except TimeoutError:
            raise Closed(TOO_SLOW) from None
        finally:
            self._sign = None

    def _event_url(self) -> str:
        try:
            url = reverse("crossmemory:event-detail", args=[self.conversation.uid, 0])
        except NoReverseMatch:  # the site has no REST API: the feed's place is documented
            return f"conversations/{self.conversation.uid}/events/{{seq}}/"
        return url.removesuffix("0/") + "{seq}/"

    def _next_ping(self) -> float:
        return time.monotonic() + settings.PING_SECONDS * random.uniform(0.9, 1.0)


def _message(body: str) -> str:
    """The message a stored body is about, without decoding a long text: it stands first in `data`."""
    _, _, rest = body.partition('"data":{"message":"')
    return rest[:36]
