"""Whose turn it is: each person in order, and who said little before who said much.

Pure: it is told what waits in the inbox, and says which row is next. A burst of somebody's messages makes them wait for
each other, and nobody else for them.
"""

import heapq
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

REMEMBER_SECONDS = 60.0  # for how long it counts that somebody was served


@dataclass(frozen=True, slots=True)
class Waiting:
    """A row of the inbox that waits."""

    pk: int
    sender: str  # empty: nobody's, and so behind nobody
    due: bool  # one that is not holds back its sender


class Schedule:
    """What waits, as it was last told. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._queues: dict[str, deque[Waiting]] = {}
        self._served: dict[str, int] = {}
        self._counted_since = clock()

    def load(self, rows: Sequence[Waiting], known: Collection[int]) -> None:
        """What waits now, oldest first; rows in `known` are being handled, or were while this was read."""
        self._queues = {}
        for row in rows:
            if row.pk not in known:
                self._queues.setdefault(row.sender or f"\0{row.pk}", deque()).append(row)

    def take(self, most: int, busy: Collection[str]) -> list[int]:
        """At most `most` rows to handle now, of as many people, none of them in `busy`. They count as being handled."""
        self._forget()
        ready = (
            (self._served.get(key, 0) + len(queue), queue[0].pk, key)
            for key, queue in self._queues.items()
            if queue[0].due and key not in busy
        )
        chosen = heapq.nsmallest(most, ready)
        for _said, _pk, key in chosen:
            queue = self._queues[key]
            queue.popleft()
            if not queue:
                del self._queues[key]
            self._served[key] = self._served.get(key, 0) + 1
        return [pk for _said, pk, _key in chosen]

    def drop(self, sender: str) -> None:
        """A row of this sender was not finished: nothing more of theirs until it is known again what waits."""
        self._queues.pop(sender, None)

    def _forget(self) -> None:
        if self._clock() - self._counted_since > REMEMBER_SECONDS:
            self._served, self._counted_since = {}, self._clock()
