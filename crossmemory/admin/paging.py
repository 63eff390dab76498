"""Pages of tables that are too big to count."""

from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator

COUNTED = 10_000
"""Rows that are counted at most. What is older is reached by search and filters, not by turning pages."""


class AtLeast(int):
    """A count that stopped at its limit: it reads `10000+`."""

    def __str__(self) -> str:
        return f"{int(self)}+"


if TYPE_CHECKING:
    _Paginator = Paginator[Any]
else:
    _Paginator = Paginator


class BoundedPaginator(_Paginator):
    """Counts as far as COUNTED and no further: `COUNT(*)` over a history reads all of it."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        found = rows.order_by()[: COUNTED + 1].count()
        return AtLeast(COUNTED) if found > COUNTED else int(found)


class UnsortableChangeList(ChangeList):
    """Rows stand in the admin's own order: any other would sort the whole table, whoever writes `?o=` by hand."""

    def get_ordering_field(self, field_name: Any) -> None:
        return None
