"""One thread and no waiting: the database answers inline, doorbells and the clock are in the test's hand."""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest
from django.db import connections

from crossmemory import db
from crossmemory.attach import consumer, follower, frames, reader
from crossmemory.attach.consumer import AttachConsumer
from crossmemory.broadcast import Listener
from crossmemory.conf import KIB

T = TypeVar("T")


class Stage:
    """Doorbells, the clock, and who attaches."""

    def __init__(self) -> None:
        self.bells: set[Listener] = set()
        self.clock = 0.0
        self.user: Any = None
        self.slow: int | None = None  # after how many more questions the database is silent until `answer`
        self._held: list[asyncio.Future[None]] = []

    async def hold(self) -> None:
        """A question to the database waits while that is silent."""
        if self.slow:
            self.slow -= 1
        elif self.slow == 0:
            held = asyncio.get_running_loop().create_future()
            self._held.append(held)
            await held

    @property
    def silent(self) -> bool:
        """Whether somebody waits for the database."""
        return bool(self._held)

    def answer(self) -> None:
        """The database answers, as things stand now."""
        held, self._held, self.slow = self._held, [], None
        for each in held:
            if not each.done():
                each.set_result(None)

    def ring(self, bell: Any) -> None:
        """The doorbell reaches one listener."""
        bell._rung = True
        self._wake(bell, True)

    def tick(self) -> None:
        """Half a minute passes: everybody pings."""
        self.clock += 30
        for bell in list(self.bells):
            self._wake(bell, False)

    def _wake(self, bell: Any, rang: bool) -> None:
        if bell._waiter is not None and not bell._waiter.done():
            bell._waiter.set_result(rang)


def played(scene: Coroutine[Any, Any, T]) -> T:
    """Run a scene in an event loop of its own, on this thread's database connection and in its transaction."""
    connection = connections["default"]

    async def act() -> T:
        connections["default"] = connection  # else a task would get a connection of its own
        return await scene

    return asyncio.run(act())


async def settled() -> None:
    """Let everything run until all wait for the test. (No thread and no socket ever wakes this loop.)"""
    loop: Any = asyncio.get_running_loop()
    await asyncio.sleep(0)
    while loop._ready:  # noqa: ASYNC110
        await asyncio.sleep(0)


def set_stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    """From here on nothing in attach waits for a thread or for real time, or asks who is there but `stage.user`."""
    made = Stage()

    async def inline(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await made.hold()
        return function(*args, **kwargs)

    async def enter(bell: Any) -> Any:
        bell._rung, bell._waiter = False, None
        made.bells.add(bell)
        return bell

    async def leave(bell: Any, *exc: object) -> None:
        made.bells.discard(bell)

    async def wait(bell: Any, timeout: float) -> bool:
        if not bell._rung:
            bell._waiter = asyncio.get_running_loop().create_future()
            if not await bell._waiter:
                return False
        bell._rung = False
        return True

    async def authenticate(attached: AttachConsumer) -> Any:
        return made.user

    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    monkeypatch.setattr(db, "run", inline)
    monkeypatch.setattr(Listener, "__aenter__", enter)
    monkeypatch.setattr(Listener, "__aexit__", leave)
    monkeypatch.setattr(Listener, "ring", lambda bell: made.ring(bell))
    monkeypatch.setattr(Listener, "wait", wait)
    monkeypatch.setattr(AttachConsumer, "authenticate", authenticate)
    for module in (consumer, follower):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: made.clock))
    # Small frames and pages, so that short logs need several.
    monkeypatch.setattr(frames, "MIN_FRAME_BYTES", 3 * KIB)
    monkeypatch.setattr(reader, "PAGE_BYTES", 12 * KIB)
    monkeypatch.setattr(follower, "_UNSEEN_BYTES", 20 * KIB)
    return made
