"""The index of a database: made by a migration, looked after whenever migrations end, asked by searches."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

from django.db import connections, router, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

from crossmemory.memory.searching import postgresql, sqlite
from crossmemory.memory.searching.scope import Scope
from crossmemory.memory.searching.words import Term
from crossmemory.memory.types import Remembered
from crossmemory.models import Message


class Index(Protocol):
    """What each of the modules `postgresql` and `sqlite` is."""

    def install(self, connection: BaseDatabaseWrapper) -> None:
        """Make what is missing, and index what is there."""

    def remove(self, connection: BaseDatabaseWrapper) -> None: ...

    def installed(self, connection: BaseDatabaseWrapper) -> bool: ...

    def find(
        self, connection: BaseDatabaseWrapper, scope: Scope, terms: Sequence[Term], most: int
    ) -> tuple[dict[int, Remembered], dict[Term, int]]:
        """The newest `most` messages with each term, by key, and how many have it at all."""

    def near(self, connection: BaseDatabaseWrapper, scope: Scope, term: Term, most: int) -> dict[int, Remembered]:
        """Messages with words that may be meant by the term."""

    def around(
        self, connection: BaseDatabaseWrapper, scope: Scope, keys: Sequence[int], distance: int
    ) -> list[tuple[int, int, Remembered]]:
        """Up to `distance` messages on each side in the same conversation, as (key, ±distance, message)."""


def index_of(connection: BaseDatabaseWrapper) -> Index:
    """The one for this kind of database."""
    return cast(Index, postgresql if connection.vendor == "postgresql" else sqlite)


@contextmanager
def read_only(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Around the queries of a search.

    PostgreSQL takes the beginning of a word for a common one, whatever this owner has, and would compile the query or
    divide it between processes: that takes longer than reading some hundred rows. (On SQLite reads are never wrapped.)
    """
    if connection.vendor != "postgresql":
        yield
        return
    with transaction.atomic(using=connection.alias):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT set_config('jit', 'off', true), set_config('max_parallel_workers_per_gather', '0', true)"
            )
        yield


def install(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """For a migration."""
    index_of(schema_editor.connection).install(schema_editor.connection)


def remove(apps: Any, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """For a migration that is taken back."""
    index_of(schema_editor.connection).remove(schema_editor.connection)


def look_after(using: str, **_: Any) -> None:
    """`post_migrate`: on SQLite triggers leave with their table when a later migration makes that anew."""
    if is_missing(connections[using]):
        index_of(connections[using]).install(connections[using])


def is_missing(connection: BaseDatabaseWrapper) -> bool:
    """Whether a database has our messages, and no index of them."""
    if not router.allow_migrate_model(connection.alias, Message) or index_of(connection).installed(connection):
        return False
    with connection.cursor() as cursor:
        return Message._meta.db_table in connection.introspection.table_names(cursor)
