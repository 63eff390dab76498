"""Searching one's own history."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils import timezone
from django.utils.dateparse import parse_date, parse_datetime
from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from crossmemory import db, memory
from crossmemory.api import inputs, shapes
from crossmemory.api.base import ApiView
from crossmemory.clean import clean
from crossmemory.conf import settings
from crossmemory.exceptions import Invalid
from crossmemory.memory import Found, Remembered
from crossmemory.models import Message, Owner

PAGE = 20
LARGEST_PAGE = 50
FARTHEST = 500  # results that are looked at
LONGEST = 1000  # characters of a query


class Search(ApiView):
    """What the person and the assistants said, wherever and however long ago, also what is kept out of memory."""

    def get(self, request: Request) -> Response:
        """The best first: `?q=`, and `agent`, `surface`, `since`, `until` (ISO, `until` not included) narrow it."""
        query = request.query_params
        words = query.get("q", "")
        if len(words) > LONGEST:
            raise Invalid(_("A search has at most %(most)d characters.") % {"most": LONGEST})
        limit = inputs.integer(query, "limit", PAGE, 1, LARGEST_PAGE) or PAGE
        offset = inputs.integer(query, "offset", 0, 0, FARTHEST) or 0
        surfaces = [inputs.choice(query, "surface", list(settings.SURFACES))] if query.get("surface") else None
        found = memory.search(
            request.user,  # type: ignore[arg-type]
            words,
            clean(query.get("agent", "")) or None,
            surfaces=surfaces,
            since=_moment(query, "since"),
            until=_moment(query, "until"),
            limit=limit + 1,
            offset=offset,
            remembered=False,
        )
        more = len(found) > limit and offset + limit <= FARTHEST
        following = query.copy()
        following["offset"] = str(offset + limit)
        return Response(
            {
                "results": _shown(self.person, found[:limit]),
                "next": f"{request.path}?{following.urlencode()}" if more else None,
            }
        )


def _moment(query: Mapping[str, str], name: str) -> datetime | None:
    """A day or a moment, in the site's time zone where it names none."""
    text = query.get(name, "")
    if not text:
        return None
    try:
        day = parse_date(text)
        moment = datetime(day.year, day.month, day.day) if day else parse_datetime(text)
        if moment is not None:
            aware = moment if timezone.is_aware(moment) else timezone.make_aware(moment)
            return aware.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    raise Invalid(_("%(name)s must be a day or a time, such as 2026-05-31.") % {"name": name})


def _shown(person: Owner, found: list[Found]) -> list[dict[str, Any]]:
    keys = {message.id for each in found for message in (each.message, *each.before, *each.after)}
    rows = Message.objects.using(db.write_alias(Message)).of(person).filter(pk__in=keys)
    named = {
        pk: (uid, conversation, title, shared)
        for pk, uid, conversation, title, shared in rows.values_list(
            "pk", "uid", "conversation__uid", "conversation__title", "shared"
        )
    }

    def shape(message: Remembered) -> dict[str, Any]:
        uid, conversation, title, shared = named[message.id]
        shown = shapes.remembered(message, uid, conversation)
        del shown["own"]
        return {**shown, "seq": message.seq, "title": title, "shared": shared}

    return [
        {
            **shape(each.message),
            "before": [shape(message) for message in each.before if message.id in named],
            "after": [shape(message) for message in each.after if message.id in named],
        }
        for each in found
        if each.message.id in named
    ]
