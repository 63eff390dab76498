"""Who searches, and what may be found: the one place that puts the owner into every query of the search."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory import db
from crossmemory.conf import surface_label
from crossmemory.memory.aside import Aside
from crossmemory.memory.types import Remembered
from crossmemory.models import Conversation, Message, Owner, Preference

#: what is read of a message, with its conversation's surface
COUNTED = 10_000
COLUMNS = ("id", "conversation_id", "seq", "turn", "role", "text", "created_at", "sent_at")


@dataclass(frozen=True, slots=True)
class Scope:
    """What one search may find. Only whole messages are ever found: no deleted, refused or interrupted ones."""

    owner: Owner
    #: what memory leaves out (kept out by the person, of a group, before a fresh start) stays out; False: a person
    #: looks through their own history
    remembered: bool = True
    #: the conversation in which the assistant searches: its own words are found whatever it shares
    conversation: Conversation | None = None
    surfaces: Sequence[str] | None = None
    since: datetime | None = None
    until: datetime | None = None

    def where(self, connection: BaseDatabaseWrapper, alias: str = "m") -> tuple[str, list[Any]]:
        """The SQL condition on messages, and its parameters."""
        quote = connection.ops.quote_name
        owner = self.owner
        person = Message._meta.get_field("owner").get_db_prep_value(owner.user_id, connection)
        parts = [f"{alias}.{quote('owner_id')} = %s", f"{alias}.tenant = %s", f"{alias}.status = 'complete'"]
        parameters: list[Any] = [person, owner.tenant]
        if owner.agent is not None:
            parts.append(f"{alias}.agent = %s")
            parameters.append(owner.agent)
        if self.remembered:
            condition, values = self._memory(connection, alias, person)
            parts.append(condition)
            parameters += values
        if self.surfaces is not None:
            keys = self._on(connection, person, self.surfaces)
            parts.append(f"{alias}.conversation_id IN ({keys.sql})")
            parameters += keys.parameters
        moment = Message._meta.get_field("created_at")
        for bound, sign in ((self.since, ">="), (self.until, "<")):
            if bound is not None:
                parts.append(f"{alias}.created_at {sign} %s")
                parameters.append(moment.get_db_prep_save(bound, connection))
        return " AND ".join(parts), parameters

    def _memory(self, connection: BaseDatabaseWrapper, alias: str, person: Any) -> tuple[str, list[Any]]:
        quote = connection.ops.quote_name
        preference = quote(Preference._meta.db_table)
        fresh = f"(SELECT p.boundary FROM {preference} p WHERE p.{quote('user_id')} = %s AND p.tenant = %s)"
        shared = f"({alias}.shared AND {alias}.id > COALESCE({fresh}, 0))"
        here = self.conversation
        if here is None:
            return shared, [person, self.owner.tenant]
        own = f"{alias}.conversation_id = %s"
        if not here.reads:
            return f"{own} AND {alias}.id > %s", [here.pk, here.boundary]
        others, set_aside = shared, []
        for column, keys in self._set_aside(connection, person):
            others += f" AND {alias}.{column} NOT IN ({keys.sql})"
            set_aside += keys.parameters
        return (
            f"({own} OR {others}) AND {alias}.id > %s",
            [here.pk, person, self.owner.tenant, *set_aside, here.boundary],
        )

    def _set_aside(self, connection: BaseDatabaseWrapper, person: Any) -> Iterator[tuple[str, _Keys]]:
        """What the person leaves out of memory in this conversation: columns, and the values that they may not have."""
        assert self.conversation is not None
        aside = Aside.of(self.conversation)
        if aside.messages:
            yield "id", _Keys(_marks(aside.messages), sorted(aside.messages))
        if aside.conversations:
            yield "conversation_id", _Keys(_marks(aside.conversations), sorted(aside.conversations))
        if aside.surfaces:
            yield "conversation_id", self._on(connection, person, sorted(aside.surfaces))

    def _on(self, connection: BaseDatabaseWrapper, person: Any, surfaces: Sequence[str]) -> _Keys:
        """The keys of the person's conversations on some surfaces."""
        quote = connection.ops.quote_name
        return _Keys(
            f"SELECT s.id FROM {quote(Conversation._meta.db_table)} s WHERE s.{quote('user_id')} = %s"
            f" AND s.tenant = %s AND s.surface IN ({_marks(surfaces)})",
            [person, self.owner.tenant, *surfaces],
        )


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys as SQL, with its parameters."""

    sql: str
    parameters: list[Any]


def _marks(values: Collection[Any]) -> str:
    return ", ".join(["%s"] * len(values)) or "NULL"


def select(connection: BaseDatabaseWrapper) -> tuple[str, str]:
    """`SELECT`'s columns for messages `m` in conversations `c`, and their FROM."""
    quote = connection.ops.quote_name
    columns = ", ".join(f"m.{quote(name)}" for name in COLUMNS)
    message, conversation = quote(Message._meta.db_table), quote(Conversation._meta.db_table)
    return f"{columns}, c.surface", f"{message} m JOIN {conversation} c ON c.id = m.conversation_id"


def read(
    connection: BaseDatabaseWrapper, sql: str, parameters: Sequence[Any], before: int = 0
) -> Iterator[tuple[list[Any], Remembered]]:
    """Rows of a query that gives `before` values of its own, then `select`'s columns."""
    fields: list[models.Field[Any, Any] | None] = [None] * before
    times = {field.name: field for field in Message._meta.concrete_fields if isinstance(field, models.DateTimeField)}
    fields += [times.get(name) for name in COLUMNS]
    labels: dict[str, str] = {}
    for row in db.rows(connection, sql, parameters, [*fields, None]):
        values = dict(zip(COLUMNS, row[before:], strict=False))
        surface = row[-1]
        if surface not in labels:
            labels[surface] = surface_label(surface)
        at = values.pop("created_at")
        yield row[:before], Remembered(**values, surface=surface, label=labels[surface], at=at)


def count(connection: BaseDatabaseWrapper, scope: Scope) -> int:
    """How many messages may be found; counting stops at COUNTED."""
    condition, values = scope.where(connection)
    table = connection.ops.quote_name(Message._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT COUNT(*) FROM (SELECT 1 FROM {table} m WHERE {condition} LIMIT %s) AS found", [*values, COUNTED]
        )
        return int(cursor.fetchone()[0])
