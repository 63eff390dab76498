"""SQL for the hot statements, generated from the models, so that no column can be forgotten or misnamed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper


class Value:
    """Marks a column whose value is a parameter of the statement."""


VALUE = Value()


@dataclass(frozen=True)
class Insert:
    """`INSERT INTO table (columns) SELECT expressions`, with the fields of its parameters in order."""

    head: str
    expressions: str
    fields: tuple[models.Field[Any, Any], ...]

    def parameters(self, values: Mapping[str, Any], connection: BaseDatabaseWrapper) -> list[Any]:
        """The parameters, prepared by each field as a save would do it."""
        return [field.get_db_prep_save(values[field.name], connection) for field in self.fields]


def insert(model: type[models.Model], sources: Mapping[str, str | Value], connection: BaseDatabaseWrapper) -> Insert:
    """An INSERT of `model` whose columns come from SQL expressions or parameters.

    Raises ValueError when `sources` misses a column or names one that is not there.
    """
    fields = {field.name: field for field in model._meta.concrete_fields if not field.primary_key}
    if set(fields) != set(sources):
        odd = ", ".join(sorted(set(fields) ^ set(sources)))
        raise ValueError(f"{model.__name__}: columns and sources differ in: {odd}.")
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(fields[name].column)) for name in sources)
    expressions: list[str] = []
    parameters: list[models.Field[Any, Any]] = []
    for name, source in sources.items():
        if isinstance(source, Value):
            # A cast, because inside a CTE PostgreSQL cannot infer a parameter's type; without a length, because a
            # cast to varchar(n) cuts in silence where an INSERT would refuse.
            kind = re.sub(r"\(.*?\)", "", fields[name].cast_db_type(connection) or "text")
            expressions.append(f"%s::{kind}")
            parameters.append(fields[name])
        else:
            expressions.append(source)
    table = quote(model._meta.db_table)
    return Insert(f"INSERT INTO {table} ({columns})", ", ".join(expressions), tuple(parameters))
