"""Answers that come late say to what: "You asked at 02:10"."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.formats import date_format, time_format
from django.utils.translation import gettext as _

from crossmemory import db
from crossmemory.models import Message, Run, manner
from crossmemory.turns.moves import owner_of

LATE_MINUTES = 10  # between what was said, by the platform's clock, and its answer
_QUESTIONS = 50


def preface(run: Run) -> str:
    """A line for an answer that leaves now, in the language that is active; empty when it is not late."""
    now = timezone.now()
    asked = Message.objects.using(db.write_alias(Message)).filter(
        conversation=run.conversation_id,
        turn=run.trigger,
        role="user",
        sent_at__lt=now - timedelta(minutes=LATE_MINUTES),
    )
    found = asked.order_by("seq").values_list("sent_at", flat=True)[:_QUESTIONS]
    times = [moment for moment in found if moment is not None]
    if not times:
        return ""
    zone = ZoneInfo(manner(owner_of(run))[1])
    first, last = (_said(moment, now, zone) for moment in (min(times), max(times)))
    if first == last:
        return _("You asked at %(time)s:") % {"time": first}
    return _("You asked between %(first)s and %(last)s:") % {"first": first, "last": last}


def _said(moment: datetime, now: datetime, zone: ZoneInfo) -> str:
    there = moment.astimezone(zone)
    if there.date() == now.astimezone(zone).date():
        return time_format(there, "TIME_FORMAT")
    return date_format(there, "SHORT_DATETIME_FORMAT")
