"""Keyset pages: what comes after a place in an order, whatever moved meanwhile."""

import base64
import binascii
import uuid
from datetime import UTC, datetime

from django.db import models
from django.db.models import Q
from django.http import QueryDict
from django.utils.translation import gettext as _

from crossmemory.exceptions import Invalid
from crossmemory.models import Conversation


def after(rows: models.QuerySet[Conversation], cursor: str) -> models.QuerySet[Conversation]:
    """Conversations newest first, those behind `cursor` only (empty: all). Raises Invalid."""
    rows = rows.order_by("-updated_at", "-uid")
    if not cursor:
        return rows
    moment, uid = _read(cursor)
    return rows.filter(Q(updated_at__lt=moment) | Q(uid__lt=uid), updated_at__lte=moment)


def address(path: str, query: QueryDict, last: Conversation) -> str:
    """The address of the page that follows the one which ends with `last`; without host, as proxies change that."""
    following = query.copy()
    following["cursor"] = _write(last)
    return f"{path}?{following.urlencode()}"


def _write(row: Conversation) -> str:
    place = f"{row.updated_at.astimezone(UTC).isoformat()}|{row.uid}"
    return base64.urlsafe_b64encode(place.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[datetime, uuid.UUID]:
    try:
        place = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        moment, _bar, uid = place.partition("|")
        return datetime.fromisoformat(moment).astimezone(UTC), uuid.UUID(uid)
    except (ValueError, OverflowError, binascii.Error):
        raise Invalid(_("This cursor is none of ours: start again without one.")) from None
