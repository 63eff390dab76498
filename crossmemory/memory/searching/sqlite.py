"""The index on SQLite: an FTS5 table without texts of its own, kept current by triggers on the messages' table.

FTS5 finds whole words and beginnings. Scripts without spaces are looked for in the texts themselves, and so is
everything where SQLite was built without FTS5: in the newest messages, one by one.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.memory.searching.scope import Scope, read, select
from crossmemory.memory.searching.words import Term, may_be
from crossmemory.memory.types import Remembered
from crossmemory.models import Message

TABLE = "crossmemory_search"
WORDS = "crossmemory_search_words"
_READ_ONE_BY_ONE = 20_000  # messages
_SIMILAR = 40  # words
_MESSAGES = Message._meta.db_table
#: a person as one word of the index
_KEY = "hex({row}.owner_id || '/' || {row}.tenant)"


def _add(row: str, of: str = "") -> str:
    key = _KEY.format(row=row)
    values = f"SELECT {row}.id, {key}, {row}.text{of} WHERE {row}.status = 'complete'"
    return f"INSERT INTO {TABLE}(rowid, owner, text) {values}"


def _take() -> str:
    key = _KEY.format(row="old")
    return (
        f"INSERT INTO {TABLE}({TABLE}, rowid, owner, text) SELECT 'delete', old.id, {key}, old.text"
        " WHERE old.status = 'complete'"
    )


_TRIGGERS = {
    "crossmemory_search_insert": f"AFTER INSERT ON {_MESSAGES} BEGIN {_add('new')}; END",
    "crossmemory_search_delete": f"AFTER DELETE ON {_MESSAGES} BEGIN {_take()}; END",
    "crossmemory_search_update": f"AFTER UPDATE OF text, status, owner_id, tenant ON {_MESSAGES}"
    f" BEGIN {_take()}; {_add('new')}; END",
}


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the table and its triggers where one is missing, and index what is there. Without FTS5, nothing."""
    if installed(connection):
        return
    remove(connection)
    with connection.cursor() as cursor:
        try:
            cursor.execute(
                f"CREATE VIRTUAL TABLE {TABLE} USING fts5(owner, text, content='', detail=column,"
                " tokenize='unicode61 remove_diacritics 2')"
            )
        except OperationalError:
            return
        cursor.execute(f"CREATE VIRTUAL TABLE {WORDS} USING fts5vocab({TABLE}, 'col')")
        for name, trigger in _TRIGGERS.items():
            cursor.execute(f"CREATE TRIGGER {name} {trigger}")
        cursor.execute(_add("m", f" FROM {_MESSAGES} m"))


def remove(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        for name in _TRIGGERS:
            cursor.execute(f"DROP TRIGGER IF EXISTS {name}")
        for table in (WORDS, TABLE):
            cursor.execute(f"DROP TABLE IF EXISTS {table}")


def installed(connection: BaseDatabaseWrapper) -> bool:
    """Whether all is there: a trigger leaves with its table when a migration makes that anew."""
    names = [TABLE, WORDS, *_TRIGGERS]
    with connection.cursor() as cursor:
        marks = ", ".join(["%s"] * len(names))
        cursor.execute(f"SELECT COUNT(*) FROM sqlite_master WHERE name IN ({marks})", names)
        return bool(cursor.fetchone()[0] == len(names))


def find(
    connection: BaseDatabaseWrapper, scope: Scope, terms: Sequence[Term], most: int
) -> tuple[dict[int, Remembered], dict[Term, int]]:
    """The newest `most` messages with each term, and how many have it at all."""
    indexed = installed(connection)
    rows: dict[int, Remembered] = {}
    totals: dict[Term, int] = {}
    for term in terms:
        if term.piece or not indexed:
            found = _scan(connection, scope, term.stem, most)
            total = len(found)
        else:
            matching = [f'"{form}"' for form in term.forms] or [f'"{term.stem}" *']
            found, total = _matching(connection, scope, matching, most)
        rows.update(found)
        totals[term] = total
    return rows, totals


def near(connection: BaseDatabaseWrapper, scope: Scope, term: Term, most: int) -> dict[int, Remembered]:
    """Messages with words that may be meant by the term. The list of words is everybody's; the messages are not."""
    if not installed(connection):
        return {}
    word = term.text
    half = word[: max(2, len(word) // 2)]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT term FROM {WORDS} WHERE col = 'text' AND (term BETWEEN %s AND %s OR term LIKE %s)",
            [half, half + "\U0010ffff", f"%{word[-4:]}"],
        )
        words = [found for (found,) in cursor.fetchall() if may_be(found, word)]
    if not words:
        return {}
    return _matching(connection, scope, [f'"{found}"' for found in sorted(words, key=len)[:_SIMILAR]], most)[0]


def _matching(
    connection: BaseDatabaseWrapper, scope: Scope, words: Sequence[str], most: int
) -> tuple[dict[int, Remembered], int]:
    person = Message._meta.get_field("owner").get_db_prep_value(scope.owner.user_id, connection)
    key = f"{person}/{scope.owner.tenant}".encode().hex().upper()
    query = f'owner : "{key}" AND text : ({" OR ".join(words)})'
    condition, values = scope.where(connection)
    selected, tables = select(connection)
    sql = (
        f"SELECT {selected} FROM {TABLE} f JOIN {tables.replace(' m JOIN', ' m ON m.id = f.rowid JOIN')}"
        f" WHERE f.{TABLE} MATCH %s AND {condition} ORDER BY f.rowid DESC LIMIT %s"
    )
    rows = {message.id: message for _, message in read(connection, sql, [query, *values, most])}
    if len(rows) < most:
        return rows, len(rows)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT COUNT(*) FROM {TABLE} WHERE {TABLE} MATCH %s", [query])
        return rows, cursor.fetchone()[0]


def _scan(connection: BaseDatabaseWrapper, scope: Scope, text: str, most: int) -> dict[int, Remembered]:
    """Messages that hold a text, of the newest ones that may be found."""
    condition, values = scope.where(connection)
    selected, tables = select(connection)
    sql = (
        f"SELECT {selected} FROM (SELECT m.* FROM {_MESSAGES} m WHERE {condition} ORDER BY m.id DESC LIMIT %s)"
        f" {tables.partition(' ')[2]} WHERE instr(lower(m.text), %s) ORDER BY m.id DESC LIMIT %s"
    )
    parameters: list[Any] = [*values, _READ_ONE_BY_ONE, unicodedata.normalize("NFC", text), most]
    return {message.id: message for _, message in read(connection, sql, parameters)}


def around(
    connection: BaseDatabaseWrapper, scope: Scope, keys: Sequence[int], distance: int
) -> list[tuple[int, int, Remembered]]:
    """Up to `distance` messages on each side in the same conversation, as (key, ±distance, message)."""
    condition, values = scope.where(connection)
    selected, tables = select(connection)
    found = []
    for key in keys:
        for sign, compare, order in ((-1, "<", "DESC"), (1, ">", "ASC")):
            sql = (
                f"SELECT {selected} FROM {tables} JOIN {_MESSAGES} k ON k.id = %s"
                f" AND m.conversation_id = k.conversation_id AND m.seq {compare} k.seq"
                f" WHERE {condition} ORDER BY m.seq {order} LIMIT %s"
            )
            near_by = read(connection, sql, [key, *values, distance])
            found += [(key, sign * far, message) for far, (_, message) in enumerate(near_by, 1)]
    return found
