"""What a run cost, over all its parts: before and after it asked for permission."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def added(before: Mapping[str, Any] | None, now: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The sum of two usages: whole numbers and lists are added, `cost` (a decimal in a text) too; the rest is the
    newer one's."""
    if before is None or now is None:
        return dict(now or before or {}) or None
    found = {**before, **now}
    for name in before.keys() & now.keys():
        old, new = before[name], now[name]
        if name == "cost":
            found[name] = str(Decimal(old) + Decimal(new))
        elif name == "first_text_seconds":
            found[name] = old
        elif type(old) is type(new) and type(old) in (int, list):
            found[name] = old + new
    return found
