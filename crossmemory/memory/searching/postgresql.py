"""The index on PostgreSQL: each message's words, each behind a key of its owner, in one GIN index on an expression.

So it is current by itself, in the transaction that writes; a search reads its owner's words only, however many people
there are; and no extension is needed. Of longer words the last four letters are indexed too: a word with one slip in
it has the first or the last ones right.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory.memory.searching.scope import COLUMNS, Scope, read, select
from crossmemory.memory.searching.words import LONGEST_WORD, UNSPACED, Term
from crossmemory.memory.types import Remembered
from crossmemory.models import Message

FUNCTION = "crossmemory_search_words"
INDEX = "crossmemory_message_search"
#: characters of a message that are indexed; what is longer was generated
_INDEXED = 60_000
_TAIL = 4  # letters
_TABLE = Message._meta.db_table
_EXPRESSION = f"{FUNCTION}({{m}}owner_id::text, {{m}}tenant, {{m}}text)"


def _function(collate: str) -> str:
    """The same words as `crossmemory.memory.searching.words` finds, but for a few signs that then end a word.

    `lower` knows ASCII only in a database whose locale is C: `collate` names ICU, which knows the rest.
    """
    unspaced = UNSPACED.encode("ascii", "backslashreplace").decode()
    other = r"0-9a-z\u00c0-\u1fff\u2c00-\u2dff\u3040-\ufdff\U00020000-\U0003ffff"
    return rf"""
CREATE OR REPLACE FUNCTION {FUNCTION}(owner text, tenant text, body text) RETURNS tsvector
LANGUAGE plpgsql IMMUTABLE COST 100 AS $function$
DECLARE
    key text := left(md5(owner || '/' || tenant), 8);
    said text := left(body, {_INDEXED});
BEGIN
    IF octet_length(said) > length(said) THEN
        said := normalize(regexp_replace(normalize(said, NFKD), '[\u0300-\u036f]', '', 'g'), NFC);
        said := lower(regexp_replace(said, '([{unspaced}])', ' \1 ', 'g'){collate});
    ELSE
        said := lower(said);
    END IF;
    RETURN (
        SELECT array_to_tsvector(
            coalesce(array_agg(key || word), ARRAY[]::text[])
            || coalesce(
                array_agg(key || '<' || right(word, {_TAIL})) FILTER (WHERE length(word) > {_TAIL}), ARRAY[]::text[]
            )
        )
        FROM (
            SELECT left(piece, {LONGEST_WORD}) AS word FROM regexp_split_to_table(said, '[^{other}]+') AS piece
            WHERE piece <> ''
        ) AS words
    );
END
$function$
"""


def install(connection: BaseDatabaseWrapper) -> None:
    """Make the function and the index where one is missing; outside a transaction, without locking the table."""
    if installed(connection):
        return
    remove(connection)
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 FROM pg_collation WHERE collname = 'und-x-icu'")
        collate = ' COLLATE "und-x-icu"' if cursor.fetchone() else ""
        cursor.execute(_function(collate))
        once = "" if connection.in_atomic_block else "CONCURRENTLY"
        # What is not in the index proper yet is read one by one: a short list keeps that, and merging it, short.
        cursor.execute(
            f"CREATE INDEX {once} {INDEX} ON {_TABLE} USING gin ({_EXPRESSION.format(m='')})"
            " WITH (gin_pending_list_limit = 512) WHERE status = 'complete'"
        )


def remove(connection: BaseDatabaseWrapper) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX IF EXISTS {INDEX}")
        cursor.execute(f"DROP FUNCTION IF EXISTS {FUNCTION}(text, text, text)")


def installed(connection: BaseDatabaseWrapper) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(%s)", [INDEX])
        found = cursor.fetchone()
    return bool(found and found[0])


def find(
    connection: BaseDatabaseWrapper, scope: Scope, terms: Sequence[Term], most: int
) -> tuple[dict[int, Remembered], dict[Term, int]]:
    """The newest `most` messages with each term, and how many have it at all."""
    key = _key(connection, scope)
    return _found(connection, scope, {term: _query(key, term) for term in terms}, most)


def near(connection: BaseDatabaseWrapper, scope: Scope, term: Term, most: int) -> dict[int, Remembered]:
    """Messages with words that begin or end as the term does."""
    key, word = _key(connection, scope), term.text
    query = f"'{key}{word[: max(2, len(word) // 2)]}':*"
    if len(word) > _TAIL:
        query += f" | '{key}<{word[-_TAIL:]}'"
    return _found(connection, scope, {term: query}, most)[0]


def _key(connection: BaseDatabaseWrapper, scope: Scope) -> str:
    """Whose words. A hash that two people share costs time only: the condition compares the people themselves."""
    person = Message._meta.get_field("owner").get_db_prep_value(scope.owner.user_id, connection)
    return hashlib.md5(f"{person}/{scope.owner.tenant}".encode(), usedforsecurity=False).hexdigest()[:8]


def _query(key: str, term: Term) -> str:
    """A term as a tsquery. Terms are letters and digits only: nothing in them needs quoting."""
    if term.piece:
        return " & ".join(f"'{key}{character}'" for character in term.text)
    if forms := term.forms:
        return " | ".join(f"'{key}{form}'" for form in forms)
    return f"'{key}{term.stem}':*"


def _found(
    connection: BaseDatabaseWrapper, scope: Scope, queries: Mapping[Term, str], most: int
) -> tuple[dict[int, Remembered], dict[Term, int]]:
    condition, values = scope.where(connection)
    expression = _EXPRESSION.format(m="m.")
    # OFFSET 0 keeps the owner's condition out, for which the planner would rather walk the owner's whole history.
    columns = "m.id, m.owner_id, m.tenant, m.agent, m.shared, m.status, m.conversation_id, m.created_at"
    branch = (
        f"(SELECT %s::int AS term, m.id, count(*) OVER () AS total FROM (SELECT {columns} FROM {_TABLE} m"
        f" WHERE {expression} @@ %s::tsquery AND m.status = 'complete' OFFSET 0) m WHERE {condition}"
        " ORDER BY m.id DESC LIMIT %s)"
    )
    parameters: list[Any] = []
    for number, query in enumerate(queries.values()):
        parameters += [number, query, *values, most]
    selected, tables = select(connection)
    sql = (
        f"WITH f AS MATERIALIZED ({' UNION ALL '.join([branch] * len(queries))})"
        f" SELECT f.term, f.total, {selected} FROM f JOIN {tables.replace(' m JOIN', ' m USING (id) JOIN')}"
    )
    terms = list(queries)
    rows: dict[int, Remembered] = {}
    totals: dict[Term, int] = {}
    for (number, total), message in read(connection, sql, parameters, before=2):
        rows[message.id] = message
        totals[terms[number]] = total
    return rows, totals


def around(
    connection: BaseDatabaseWrapper, scope: Scope, keys: Sequence[int], distance: int
) -> list[tuple[int, int, Remembered]]:
    """Up to `distance` messages on each side in the same conversation, as (key, ±distance, message)."""
    condition, values = scope.where(connection, "m")
    names = ", ".join(f"m.{name}" for name in COLUMNS)
    sides = " UNION ALL ".join(
        f"(SELECT {sign}row_number() OVER (ORDER BY m.seq {order}) AS distance, {names} FROM {_TABLE} m"
        f" WHERE m.conversation_id = k.conversation_id AND m.seq {compare} k.seq AND {condition}"
        f" ORDER BY m.seq {order} LIMIT %s)"
        for sign, compare, order in (("-", "<", "DESC"), ("", ">", "ASC"))
    )
    selected, tables = select(connection)
    sql = (
        f"SELECT k.id, m.distance, {selected} FROM {_TABLE} k CROSS JOIN LATERAL ({sides}) m"
        f" {tables.partition(' m ')[2]} WHERE k.id = ANY(%s)"
    )
    parameters = [*values, distance, *values, distance, list(keys)]
    return [(key, far, message) for (key, far), message in read(connection, sql, parameters, before=2)]
