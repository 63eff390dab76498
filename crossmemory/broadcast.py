"""Doorbells: the tiny notice "conversation X has something new". It carries no truth.

A ring reaches listeners of the same process directly, and other processes through the site's channel layer, from one
dedicated thread. Without a layer that processes share, that thread looks into the database every POLL_SECONDS for
the conversations somebody listens to; with one it still does, rarely, because layers may lose messages. So a lost,
doubled or late doorbell changes nothing but delay.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Coroutine
from typing import Any, Self

from django.core.signals import setting_changed
from django.db.models import Max

from crossmemory import db
from crossmemory.conf import settings
from crossmemory.models import Conversation, MessageChunk

logger = logging.getLogger(__name__)

_TYPE = "crossmemory.doorbell"
_BACKSTOP_SECONDS = 5.0  # how often to look into the database although a shared layer rings
_SEND_SECONDS = 2.0  # a layer that takes longer has lost the ring
_GONE = ("", 0, 0)  # the state of a conversation that was deleted
_REJOIN_SECONDS = 3600.0  # group membership expires in channels_redis after a day


class Listener:
    """Waits for doorbells of one conversation, on the event loop that entered it.

    `async with Listener(conversation.pk) as bell: await bell.wait(timeout)`
    """

    __slots__ = ("_rung", "_waiter", "conversation_id", "loop")  # there are as many as sockets

    def __init__(self, conversation_id: int) -> None:
        self.conversation_id = conversation_id
        self._rung = False
        self._waiter: asyncio.Future[None] | None = None

    async def __aenter__(self) -> Self:
        self.loop = asyncio.get_running_loop()
        bus().add(self)
        return self

    async def __aexit__(self, *exc: object) -> None:
        bus().remove(self)

    def ring(self) -> None:
        """Wake the waiter; on its event loop."""
        self._rung = True
        if self._waiter is not None:
            _resolve(self._waiter)

    async def wait(self, timeout: float) -> bool:
        """Wait for a ring at most `timeout` seconds; True when it rang (also before the call). One waits at a time."""
        if not self._rung:
            self._waiter = self.loop.create_future()
            alarm = self.loop.call_later(timeout, _resolve, self._waiter)
            try:
                await self._waiter
            finally:
                alarm.cancel()
                self._waiter = None
        rung, self._rung = self._rung, False
        return rung


def _resolve(waiter: "asyncio.Future[None]") -> None:
    if not waiter.done():
        waiter.set_result(None)


def _ring_all(listeners: list[Listener]) -> None:
    for listener in listeners:
        listener.ring()


class Bus:
    """The listeners of this process, and the thread that rings and hears other processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._listeners: dict[int, set[Listener]] = defaultdict(set)
        self._seen: dict[int, tuple[str, int, int]] = {}
        self._outgoing: set[int] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._wake: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    def add(self, listener: Listener) -> None:
        with self._lock:
            self._listeners[listener.conversation_id].add(listener)
        self._nudge()

    def remove(self, listener: Listener) -> None:
        with self._lock:
            listeners = self._listeners.get(listener.conversation_id)
            if listeners is None:
                return
            listeners.discard(listener)
            if not listeners:
                del self._listeners[listener.conversation_id]
                self._seen.pop(listener.conversation_id, None)

    def ring(self, conversation_id: int) -> None:
        """Something of this conversation was committed. Never raises, never waits."""
        self._ring_here(conversation_id)
        if shared_layer() is not None:
            with self._lock:
                self._outgoing.add(conversation_id)
            self._nudge()

    def _ring_here(self, conversation_id: int) -> None:
        with self._lock:
            listeners = list(self._listeners.get(conversation_id, ()))
        by_loop: dict[asyncio.AbstractEventLoop, list[Listener]] = defaultdict(list)
        for listener in listeners:
            by_loop[listener.loop].append(listener)
        for loop, woken in by_loop.items():  # one hop for all of them: they read together what is new
            try:
                loop.call_soon_threadsafe(_ring_all, woken)
            except RuntimeError:  # the loop is closed: nobody waits there any more
                for listener in woken:
                    self.remove(listener)

    def _nudge(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                ready = threading.Event()
                self._thread = threading.Thread(
                    target=self._serve, args=(ready,), name="crossmemory-doorbells", daemon=True
                )
                self._thread.start()
                ready.wait()
            loop, wake = self._loop, self._wake
        if loop is not None and wake is not None and not loop.is_closed():
            loop.call_soon_threadsafe(wake.set)

    def stop(self) -> None:
        """End the thread (tests, and the end of a process)."""
        with self._lock:
            loop, thread, self._thread = self._loop, self._thread, None
        if loop is not None and thread is not None and thread.is_alive():
            loop.call_soon_threadsafe(self._main.cancel)
            thread.join(timeout=5)

    def _serve(self, ready: threading.Event) -> None:
        async def main() -> None:
            self._loop, self._wake = asyncio.get_running_loop(), asyncio.Event()
            self._main: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]
            ready.set()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forever(self._send))
                group.create_task(self._forever(self._hear))
                group.create_task(self._forever(self._look))

        with contextlib.suppress(asyncio.CancelledError):
            asyncio.run(main())

    async def _forever(self, step: Any) -> None:
        """Repeat a step; trouble is logged once until it is over."""
        troubled = False
        while True:
            try:
                coroutine: Coroutine[Any, Any, None] = step()
                await coroutine
                troubled = False
            except Exception as error:
                if not troubled:
                    logger.warning("Doorbells between processes: %r; looking into the database instead.", error)
                troubled = True
                await asyncio.sleep(1)

    async def _send(self) -> None:
        assert self._wake is not None
        await self._wake.wait()
        self._wake.clear()
        layer = shared_layer()
        with self._lock:
            outgoing, self._outgoing = self._outgoing, set()
        if layer is None:
            return
        async with asyncio.timeout(_SEND_SECONDS):
            for conversation_id in outgoing:
                await layer.group_send(_group(conversation_id), {"type": _TYPE, "conversation": conversation_id})

    async def _hear(self) -> None:
        layer = shared_layer()
        if layer is None:
            await asyncio.sleep(1)
            return
        channel = await layer.new_channel("crossmemory.")
        joined: dict[int, float] = {}

        async def keep_joined() -> None:
            while True:
                with self._lock:
                    wanted = set(self._listeners)
                for gone in set(joined) - wanted:
                    del joined[gone]
                    await layer.group_discard(_group(gone), channel)
                now = time.monotonic()
                for conversation_id in wanted:
                    if now - joined.get(conversation_id, -_REJOIN_SECONDS) >= _REJOIN_SECONDS:
                        await layer.group_add(_group(conversation_id), channel)
                        joined[conversation_id] = now
                        self._ring_here(conversation_id)  # what rang before we joined
                await asyncio.sleep(0.1)

        async def receive() -> None:
            while True:
                message = await layer.receive(channel)
                if message.get("type") == _TYPE:
                    self._ring_here(int(message["conversation"]))

        async with asyncio.TaskGroup() as group:
            group.create_task(keep_joined())
            group.create_task(receive())

    async def _look(self) -> None:
        await asyncio.sleep(_BACKSTOP_SECONDS if shared_layer() is not None else settings.POLL_SECONDS)
        with self._lock:
            wanted = list(self._listeners)
        if not wanted:
            return
        states = await db.run(_states, wanted)
        for conversation_id in wanted:
            state = states.get(conversation_id, _GONE)
            if self._seen.get(conversation_id) != state:
                with self._lock:
                    if conversation_id in self._listeners:
                        self._seen[conversation_id] = state
                self._ring_here(conversation_id)


def _states(conversation_ids: list[int]) -> dict[int, tuple[str, int, int]]:
    """(epoch, head, key of the newest chunk) of conversations: what a doorbell would announce."""
    alias = db.write_alias(Conversation)
    chunks = dict(
        MessageChunk.objects.using(alias)
        .filter(message__conversation__in=conversation_ids, message__status="writing")
        .values_list("message__conversation")
        .annotate(Max("id"))
    )
    heads = Conversation.objects.using(alias).filter(pk__in=conversation_ids).values_list("pk", "epoch", "head")
    return {pk: (epoch, head, chunks.get(pk, 0)) for pk, epoch, head in heads}


def _group(conversation_id: int) -> str:
    return f"crossmemory.{conversation_id}"


_layer: Any = None
_layer_known = False


def shared_layer() -> Any:
    """The site's channel layer, if processes can share it; else None. (The in-memory layer is one process's own.)"""
    global _layer, _layer_known
    if not _layer_known:
        from channels.layers import InMemoryChannelLayer, get_channel_layer

        try:
            layer = get_channel_layer(settings.CHANNEL_LAYER)
        except Exception as error:  # a wrong setting is a system check's business, not a reason to lose a reply
            logger.warning("No channel layer: %s", error)
            layer = None
        _layer = None if isinstance(layer, InMemoryChannelLayer) else layer
        _layer_known = True
    return _layer


def _forget_layer(*, setting: str, **_: Any) -> None:
    global _layer_known
    if setting in ("CHANNEL_LAYERS", "CROSSMEMORY"):
        _layer_known = False


setting_changed.connect(_forget_layer)

_bus = Bus()


def bus() -> Bus:
    return _bus


def ring(conversation_id: int) -> None:
    """Wake everybody who follows this conversation, here and in other processes. Never raises, never waits."""
    _bus.ring(conversation_id)


def stop() -> None:
    """End the doorbell thread of this process."""
    _bus.stop()
