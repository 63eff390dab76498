"""The surfaces as people see them, looked up once a request."""

from dataclasses import dataclass

from crossmemory.conf import primary_surface, surface_label
from crossmemory.exceptions import CrossmemoryError
from crossmemory.surfaces import surfaces


@dataclass(frozen=True, slots=True)
class Place:
    """One surface: what it is called, and what can be done with it from the web."""

    alias: str
    label: str
    primary: bool
    connectable: bool = False
    open_url: str | None = None
    has_buttons: bool = False


class Places(dict[str, Place]):
    """`places[alias]`: also of a surface that the settings do not have any more, or that is set up wrongly."""

    def __missing__(self, alias: str) -> Place:
        place = self[alias] = find(alias)
        return place


def find(alias: str) -> Place:
    try:
        surface = surfaces[alias]
        return Place(
            alias, surface.label, surface.primary, surface.connectable, surface.open_url(), surface.has_buttons
        )
    except CrossmemoryError:  # what is wrong with a surface is told by its system check
        return Place(alias, surface_label(alias), alias == primary_surface())
