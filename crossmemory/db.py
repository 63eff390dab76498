"""The one place that leads async code to the database, and the few facts about databases the app relies on."""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, close_old_connections, connections, models, router
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.conf import settings

P = ParamSpec("P")
T = TypeVar("T")

_pool: ThreadPoolExecutor | None = None


def _threads() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(max_workers=settings.DB_THREADS, thread_name_prefix="crossmemory-db")
    return _pool


def fresh() -> None:
    """Drop connections that died or are too old, before a unit of work; never inside a transaction."""
    for connection in connections.all(initialized_only=True):
        if connection.in_atomic_block:
            return
    close_old_connections()


async def run(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function that uses the database in the app's own small thread pool.

    Not `sync_to_async` with its default: there one append that waits for a row lock stalls every other read of
    the process. Context variables (the active language, for one) go along; a cancelled caller does not stop the call.
    """
    context = contextvars.copy_context()

    def unit() -> T:
        fresh()
        try:
            return context.run(function, *args, **kwargs)
        finally:
            fresh()

    return await asyncio.get_running_loop().run_in_executor(_threads(), unit)


def twin(function: Callable[P, T]) -> Callable[P, Awaitable[T]]:
    """The async twin of a function that uses the database."""

    @functools.wraps(function)
    async def a(*args: P.args, **kwargs: P.kwargs) -> T:
        return await run(function, *args, **kwargs)

    a.__name__ = "a" + function.__name__
    a.__qualname__ = a.__name__
    a.__doc__ = f"Async twin of `{function.__name__}`.\n\n{function.__doc__ or ''}"
    return a


def close_threads() -> None:
    """End the pool and its connections (tests, and the end of a process)."""
    global _pool
    if _pool is None:
        return
    pool, _pool = _pool, None
    together = threading.Barrier(pool._max_workers)  # so that each thread closes its own connections

    def close() -> None:
        together.wait()
        connections.close_all()

    for future in [pool.submit(close) for _ in range(pool._max_workers)]:
        future.result()
    pool.shutdown(wait=True)


def write_alias(model: type[models.Model]) -> str:
    """The database that `model` is written to. Reads that decide something use it too, never a replica."""
    return router.db_for_write(model) or DEFAULT_DB_ALIAS


def connection_for(model: type[models.Model]) -> BaseDatabaseWrapper:
    """This thread's connection to the database that `model` is written to."""
    return connections[write_alias(model)]


def rows(
    connection: BaseDatabaseWrapper,
    sql: str,
    params: Sequence[Any],
    fields: Sequence[models.Field[Any, Any] | None],
) -> Iterator[list[Any]]:
    """Rows of a SELECT with the database's own values turned into Python's, column by column.

    `fields` names the model field of each column; None leaves the value as it is. (SQLite keeps times and UUIDs as
    text; PostgreSQL needs no conversion, and then this costs nothing.)
    """
    with connection.cursor() as cursor:
        cursor.execute(sql, params)
        found = cursor.fetchall()
    converters = []
    for index, field in enumerate(fields):
        if field is None:
            continue
        expression = field.get_col("t", field)
        for convert in [*connection.ops.get_db_converters(expression), *field.get_db_converters(connection)]:
            converters.append((index, functools.partial(_convert, convert, expression, connection)))
    for row in found:
        values = list(row)
        for index, convert in converters:
            values[index] = convert(values[index])
        yield values


def _convert(convert: Any, expression: Any, connection: BaseDatabaseWrapper, value: Any) -> Any:
    return convert(value, expression, connection)
