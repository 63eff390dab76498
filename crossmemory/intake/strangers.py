"""People who are not linked get a short answer that says how to link, at most once in a while."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from crossmemory import db
from crossmemory.models import InboundUpdate

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

TOLD = "told"
UNLINKED = "unlinked"

_PER_HOUR = 1  # answers to what a stranger says
ASKED_PER_HOUR = 5  # answers to commands, with which a stranger asks for them
_EVERYBODY_PER_MINUTE = 60


def answer(case: Case, most: int = _PER_HOUR) -> str:
    """Tell a stranger how to link, unless they were told lately. Returns the outcome."""
    return _tell(case, how_to_link(case), most)


def only_in_private(case: Case) -> str:
    """Somebody tries to connect in a group: nobody is connected there."""
    return _tell(case, _("Please open a private chat with me to connect your account."), _PER_HOUR)


def how_to_link(case: Case) -> str:
    """How people connect an account, with the site's address if it is known."""
    hello = _("Hello! I do not know you here yet.")
    if case.surface.site_url:
        how = _("Sign in at %(address)s, choose “Connect %(label)s…”, and open the link you get there.") % {
            "address": case.surface.site_url,
            "label": case.surface.label,
        }
    else:
        how = _("Sign in on the site, choose “Connect %(label)s…”, and open the link you get there.") % {
            "label": case.surface.label
        }
    return f"{hello} {how}"


def _tell(case: Case, text: str, most: int) -> str:
    row = case.row
    told = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(
        surface=row.surface, account=row.account, outcome=TOLD
    )
    if told.filter(sender=row.sender, finished_at__gt=Now() - timedelta(hours=1)).count() >= most:
        return UNLINKED
    if told.filter(received_at__gt=Now() - timedelta(minutes=1)).count() >= _EVERYBODY_PER_MINUTE:
        return UNLINKED
    case.tell(text)
    return TOLD
