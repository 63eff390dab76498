"""What people on platforms are told about what they may use in a day."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from django.utils.formats import time_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crossmemory import db
from crossmemory.budget import WARN_AT, Used
from crossmemory.intake.case import Case
from crossmemory.models import InboundUpdate, Owner, SurfaceLink, manner

#: outcomes of updates after which the person was told
REFUSED = "over budget"
WARNED = "message, budget nearly spent"

_DAY = timedelta(days=1)


def refuse(case: Case, link: SurfaceLink, used: Used) -> str:
    """Say when there is an answer again, once a day. What was said is not kept, so that it is said again then.
    Returns the outcome."""
    if _was_told(link, REFUSED, used):
        return f"{REFUSED}, known"
    case.tell(
        _(
            "You have used up what I may do for you in one day, so I have not read this message. Please send it once "
            "more after %(time)s (%(zone)s): then I answer again."
        )
        % _when(link, used.resets_at)
    )
    return REFUSED


def warn(case: Case, link: SurfaceLink, used: Used) -> bool:
    """Say once a day that little is left; whether it was said now."""
    if used.share < WARN_AT or _was_told(link, WARNED, used):
        return False
    left = used.messages_left
    if left is not None:
        text = ngettext(
            "You can send me %(count)d more message today. It starts anew at %(time)s (%(zone)s).",
            "You can send me %(count)d more messages today. It starts anew at %(time)s (%(zone)s).",
            left,
        )
    else:
        text = _("Most of what I may do for you in one day is used up. It starts anew at %(time)s (%(zone)s).")
    case.tell(text % {"count": left or 0, **_when(link, used.resets_at)})
    return True


def _when(link: SurfaceLink, moment: datetime) -> dict[str, str]:
    zone = manner(Owner(link.user_id, link.tenant))[1]
    return {"time": time_format(moment.astimezone(ZoneInfo(zone)), "TIME_FORMAT"), "zone": zone}


def _was_told(link: SurfaceLink, outcome: str, used: Used) -> bool:
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(link=link.pk, outcome=outcome)
    return rows.filter(received_at__gte=used.resets_at - _DAY).exists()
