"""Reads that many followers of a conversation ask for at the same moment, done once per process."""

import asyncio
import weakref
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from crossmemory import db

T = TypeVar("T")


class SharedReads:
    """One doorbell wakes every follower of a conversation; most stand at the same seq and want the same rows.

    One read is under way at a time, and a caller joins the next one: the read under way may have looked before what
    the caller was rung for was committed.
    """

    def __init__(self) -> None:
        self._next: dict[Hashable, asyncio.Task[Any]] = {}
        self._under_way: dict[Hashable, asyncio.Task[Any]] = {}

    async def read(self, function: Callable[..., T], *arguments: Hashable) -> T:
        """Call a function that reads the database, or share the call that others have just asked for."""
        key = (function, arguments)
        task: asyncio.Task[T] | None = self._next.get(key)
        if task is None:
            task = self._next[key] = asyncio.create_task(self._begin(key, function, arguments))
            task.add_done_callback(_seen)
        return await asyncio.shield(task)  # one follower that leaves does not take the read from the others

    async def _begin(self, key: Hashable, function: Callable[..., T], arguments: tuple[Hashable, ...]) -> T:
        await asyncio.sleep(0)  # everybody who was rung in this turn of the loop may join
        while (before := self._under_way.get(key)) is not None:
            await asyncio.wait([before])
        self._under_way[key] = self._next.pop(key)
        try:
            return await db.run(function, *arguments)
        finally:
            del self._under_way[key]


def _seen(task: "asyncio.Task[Any]") -> None:
    """An error that nobody waits for any more is no news."""
    if not task.cancelled():
        task.exception()


_by_loop: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, SharedReads]" = weakref.WeakKeyDictionary()


def shared() -> SharedReads:
    """The shared reads of the running event loop."""
    return _by_loop.setdefault(asyncio.get_running_loop(), SharedReads())
