"""The database's clock: what rows wait for, and how long somebody has them.

It may be set back. A lease or a wait that ends later than any could was written before that, and is over: nobody stays
deaf until the clock has caught up.
"""

from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.db.models.functions import Now

#: seconds by which an end may lie beyond the longest that is known here: other processes may have other settings
_LEEWAY = 300.0


def ahead(seconds: float) -> Any:
    """The moment that is so far ahead, for an update."""
    return Now() + timedelta(seconds=seconds)


def lapsed(longest: float) -> Q:
    """Rows with a lease that is over. None lasts longer than `longest` seconds."""
    return Q(lease_until__lt=Now()) | Q(lease_until__gt=ahead(longest + _LEEWAY))


def due(longest: float) -> Q:
    """Rows that need not wait any more. None waits longer than `longest` seconds."""
    return Q(not_before=None) | Q(not_before__lte=Now()) | Q(not_before__gt=ahead(longest + _LEEWAY))
