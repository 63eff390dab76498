"""Counts what goes between the app and its database, on every connection of this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from django.db import connections
from django.db.backends.signals import connection_created

_WRITTEN = """
SELECT COALESCE(SUM(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables WHERE relname LIKE 'crossmemory%'
"""


@dataclass
class Count:
    """What was counted."""

    queries: int = 0
    read: int = 0  # rows that came back
    written: int = 0  # rows inserted, updated or deleted in the app's tables
    sent: int = 0  # bytes of parameters, as text; the statements themselves are always the same
    received: int = 0  # bytes of values that came back, as text
    statements: list[str] = field(default_factory=list)


class Meter:
    """Installed once, it counts while `counting` is active."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count: Count | None = None
        self._seen: list[Any] = []
        connection_created.connect(self._install)
        for connection in connections.all(initialized_only=True):
            if connection.connection is not None:
                self._install(connection=connection)

    @contextmanager
    def counting(self) -> Iterator[Count]:
        """Counts until the end of the block; `written` is there afterwards."""
        count = Count()
        before = self._written()
        self._count = count
        try:
            yield count
        finally:
            self._count = None
        count.written = self._written() - before

    def _install(self, connection: Any, **_: Any) -> None:
        """Listen to a connection once, whatever thread opened it."""
        if self not in connection.execute_wrappers:
            connection.execute_wrappers.append(self)
        self._seen.append(connection)

    def __call__(self, execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:
        result = execute(sql, parameters, many, context)
        count = self._count
        if count is not None:
            answer = context["cursor"].cursor.pgresult
            with self._lock:
                count.queries += 1
                count.statements.append(sql)
                count.sent += sum(len(str(value).encode()) for value in parameters or ())
                if answer is not None and answer.ntuples:
                    count.read += answer.ntuples
                    places = [(row, column) for row in range(answer.ntuples) for column in range(answer.nfields)]
                    count.received += sum(len(answer.get_value(*place) or b"") for place in places)
        return result

    def _written(self) -> int:
        """Rows written so far. A server process tells its share when it is asked to, else up to a minute late."""
        opened = {id(each.connection): each.connection for each in self._seen if each.connection is not None}
        alive = [each for each in opened.values() if not each.closed]
        for each in alive:
            each.execute("SELECT pg_stat_force_next_flush()")
            each.execute("SELECT 1")
        return int(alive[0].execute(_WRITTEN).fetchone()[0])
