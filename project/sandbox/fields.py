"""The fields of a door's JSON body, each refused with a sentence when it is not what it should be."""

import json
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest

from .errors import DoorError
from .formatting import storable

BIGGEST = 2**63 - 1


def body(request: HttpRequest) -> dict[str, Any]:
    """The JSON object in ``request``."""
    try:
        value = json.loads(request.body or b"")
    except RequestDataTooBig as error:
        raise DoorError("the body is too large", 413) from error
    except (ValueError, RecursionError) as error:
        raise DoorError(f"the body is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DoorError("the body must be a JSON object")
    return value


def integer(
    values: dict[str, Any], name: str, *, least: int = -BIGGEST - 1, most: int = BIGGEST, default: int | None = None
) -> int | None:
    """A whole number, or ``default`` when it is absent; numerals in a string count."""
    value = values.get(name)
    if value is None or value == "":
        return default
    try:
        number = int(value) if isinstance(value, int | str) and not isinstance(value, bool) else None
    except ValueError:
        number = None
    if number is None or not least <= number <= most:
        raise DoorError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return number


def needed(values: dict[str, Any], name: str, *, least: int = -BIGGEST - 1) -> int:
    number = integer(values, name, least=least)
    if number is None:
        raise DoorError(f"{name} is missing")
    return number


def raw_text(values: dict[str, Any], name: str) -> str:
    """A string as it came, NUL and lone surrogates included; empty when it is absent."""
    value = values.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise DoorError(f"{name} must be a string, not {value!r}")
    return value


def text(values: dict[str, Any], name: str, *, longest: int | None = None) -> str:
    """A string fit to be stored; empty when it is absent."""
    value = str(storable(raw_text(values, name)))
    if longest is not None and len(value) > longest:
        raise DoorError(f"{name} has {len(value)} characters; {longest} are allowed")
    return value


def seconds(values: dict[str, Any], name: str) -> float:
    value = values.get(name) or 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 600:
        raise DoorError(f"{name} must be a number of seconds from 0 to 600, not {value!r}")
    return float(value)


def boolean(values: dict[str, Any], name: str, default: bool) -> bool:
    value = values.get(name, default)
    if not isinstance(value, bool):
        raise DoorError(f"{name} must be true or false, not {value!r}")
    return value
