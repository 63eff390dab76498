"""What was said around a message, in the same conversation."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.memory.searching import ranking
from crossmemory.memory.searching.index import index_of
from crossmemory.memory.searching.scope import Scope
from crossmemory.memory.types import Remembered

#: those that a message gives a part of its score to, and one more: what stands around the farthest of them
_DISTANCE = len(ranking.NEIGHBOURS) + 1


class Around:
    """Who stands next to whom, as far as it was asked for. The messages go into `rows`, by key."""

    def __init__(self, connection: BaseDatabaseWrapper, scope: Scope, rows: dict[int, Remembered]) -> None:
        self._connection = connection
        self._scope = scope
        self._rows = rows
        self._previous: dict[int, int] = {}
        self._next: dict[int, int] = {}
        self._known: set[int] = set()

    def of(self, keys: Sequence[int]) -> Mapping[int, Mapping[int, int]]:
        """Who stands how far from each of these messages: {key: {-1: key, 1: key, …}}."""
        places: dict[int, dict[int, int]] = {key: {} for key in keys}
        if keys:
            index = index_of(self._connection)
            for key, far, message in index.around(self._connection, self._scope, keys, _DISTANCE):
                self._rows[message.id] = message
                places[key][far] = message.id
        for key, near in places.items():
            row = [message for _far, message in sorted({**near, 0: key}.items())]
            for one, following in pairwise(row):
                self._next[one], self._previous[following] = following, one
            self._known.update(message for far, message in {**near, 0: key}.items() if abs(far) < _DISTANCE)
        return places

    def knows(self, key: int) -> bool:
        """Whether both neighbours of a message are known, where it has any."""
        return key in self._known

    def before(self, key: int) -> tuple[Remembered, ...]:
        return self._shown(self._previous.get(key))

    def after(self, key: int) -> tuple[Remembered, ...]:
        return self._shown(self._next.get(key))

    def _shown(self, key: int | None) -> tuple[Remembered, ...]:
        return () if key is None else (self._rows[key],)
