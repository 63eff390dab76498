"""What clients send, read strictly: each function returns the value or raises Invalid with a line for people."""

import math
import re
import uuid
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from crossmemory.exceptions import Invalid, NotFound

T = TypeVar("T", bound=str)

_UID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_INTEGER = re.compile(r"\d{1,15}")  # below 2^53, as every number of the protocol
_LARGEST = 2**53


def public_id(text: str) -> uuid.UUID:
    """An id as addresses carry it. Raises NotFound: what is not an id names nothing."""
    if _UID.fullmatch(text) is None:
        raise NotFound
    return uuid.UUID(text)


def body(data: Any) -> Mapping[str, Any]:
    """The body as an object; an absent one is empty."""
    if not isinstance(data, Mapping):
        raise Invalid(_("The body must be a JSON object."))
    return data


def text(values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    value = values.get(name, default)
    if not isinstance(value, str):
        raise Invalid(_("%(name)s must be a text.") % {"name": name})
    return value


def flag(values: Mapping[str, Any], name: str, default: bool | None = None) -> bool:
    value = values.get(name, default)
    if not isinstance(value, bool):
        raise Invalid(_("%(name)s must be true or false.") % {"name": name})
    return value


def choice(values: Mapping[str, Any], name: str, choices: Collection[T], default: T | None = None) -> T:
    value = values.get(name, default)
    for each in choices:
        if each == value:
            return each
    raise Invalid(_("%(name)s must be one of: %(choices)s.") % {"name": name, "choices": ", ".join(choices)})


def seq(values: Mapping[str, Any], name: str) -> int:
    """A place in a log, from a body."""
    value = values.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
        raise Invalid(_("%(name)s must be a whole number.") % {"name": name})
    return value


def integer(query: Mapping[str, str], name: str, default: int | None, least: int, most: int = _LARGEST) -> int | None:
    """A whole number of a query string, or `default` when it is absent."""
    value = query.get(name, "")
    if value == "":
        return default
    if _INTEGER.fullmatch(value) is None or not least <= int(value) <= most:
        raise Invalid(
            _("%(name)s must be a whole number from %(least)d to %(most)d.")
            % {"name": name, "least": least, "most": most}
        )
    return int(value)


def seconds(query: Mapping[str, str], name: str) -> float:
    """A time of a query string; absent: 0."""
    try:
        value = float(query.get(name) or 0)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise Invalid(_("%(name)s must be a number of seconds.") % {"name": name})
    return value
