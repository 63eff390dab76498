"""Aliases: ``{"alias": {"BACKEND": dotted path, "OPTIONS": {…}}}`` becomes one object per alias and process."""

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from django.core.signals import setting_changed
from django.utils.module_loading import import_string

from crossmemory.conf import settings
from crossmemory.exceptions import Misconfigured

T = TypeVar("T")


class Aliases(Generic[T]):
    """Objects by alias, made on first use; made anew when the setting changes."""

    def __init__(self, setting: str, read: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None) -> None:
        self.setting = setting
        self._read = read or (lambda: getattr(settings, setting))
        self._made: dict[str, T] = {}
        setting_changed.connect(self._forget, weak=False)

    def __getitem__(self, alias: str) -> T:
        """The object behind `alias`. Raises Misconfigured."""
        made = self._made.get(alias)
        if made is None:
            made = self._made.setdefault(alias, self._make(alias))
        return made

    def __contains__(self, alias: str) -> bool:
        return alias in self._read()

    def __iter__(self) -> Any:
        return iter(self._read())

    def _make(self, alias: str) -> T:
        try:
            entry = self._read()[alias]
        except KeyError:
            known = ", ".join(sorted(self._read())) or "none"
            raise Misconfigured(f"CROSSMEMORY[{self.setting!r}] has no alias {alias!r}; it has: {known}.") from None
        try:
            backend = import_string(entry["BACKEND"])
        except (ImportError, KeyError) as error:
            raise Misconfigured(f"CROSSMEMORY[{self.setting!r}][{alias!r}]: {error}") from error
        made: T = backend(alias, **entry.get("OPTIONS", {}))
        return made

    def _forget(self, *, setting: str, **_: Any) -> None:
        if setting == "CROSSMEMORY":
            self._made.clear()
