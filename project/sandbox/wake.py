"""Wakes a waiting getUpdates of this process as soon as something arrives. Other processes notice by polling."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import transaction

_bells: dict[int, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}


@contextmanager
def bell(bot_id: int) -> Iterator[asyncio.Event]:
    """An event of the running loop that is set whenever ``bot_id`` has something new."""
    entry = (asyncio.get_running_loop(), asyncio.Event())
    _bells.setdefault(bot_id, set()).add(entry)
    try:
        yield entry[1]
    finally:
        _bells[bot_id].discard(entry)


def ring(bot_id: int) -> None:
    """Set the bells of ``bot_id`` after the commit; from any thread."""
    transaction.on_commit(lambda: _ring(bot_id))


def _ring(bot_id: int) -> None:
    for loop, event in list(_bells.get(bot_id, ())):
        if not loop.is_closed():
            loop.call_soon_threadsafe(event.set)
