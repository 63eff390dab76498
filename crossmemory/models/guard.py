"""Rows of the log are written by `crossmemory.log` alone: everything else that tries is told so."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NoReturn, TypeVar

from django.db import models

from crossmemory.exceptions import AppendOnly
from crossmemory.models.owner import OwnedQuerySet

M = TypeVar("M", bound=models.Model)

_writing: ContextVar[bool] = ContextVar("crossmemory_log_writing", default=False)


@contextmanager
def log_writes() -> Iterator[None]:
    """Lets the code inside write guarded rows. For `crossmemory.log` and erasing only."""
    token = _writing.set(True)
    try:
        yield
    finally:
        _writing.reset(token)


def _refuse(model: type[models.Model]) -> NoReturn:
    raise AppendOnly(f"{model.__name__} rows are written by crossmemory.log alone: call its functions instead.")


def check(model: type[models.Model]) -> None:
    """Raises AppendOnly unless `log_writes` is active."""
    if not _writing.get():
        _refuse(model)


class GuardedQuerySet(OwnedQuerySet[M]):
    """A QuerySet that reads freely and writes only for the log."""

    def create(self, **kwargs: Any) -> M:
        check(self.model)
        return super().create(**kwargs)

    def bulk_create(self, *args: Any, **kwargs: Any) -> list[M]:
        check(self.model)
        return super().bulk_create(*args, **kwargs)

    def update(self, **kwargs: Any) -> int:
        check(self.model)
        return super().update(**kwargs)

    def bulk_update(self, *args: Any, **kwargs: Any) -> int:
        check(self.model)
        return super().bulk_update(*args, **kwargs)

    def delete(self) -> tuple[int, dict[str, int]]:
        check(self.model)
        return super().delete()


class Guarded(models.Model):
    """A row that only the log writes. (Deleting a conversation or a user takes its rows along: that is erasing.)"""

    class Meta:
        abstract = True

    def save(self, *args: Any, **kwargs: Any) -> None:
        check(type(self))
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        check(type(self))
        return super().delete(*args, **kwargs)
