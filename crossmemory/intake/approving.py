"""Buttons of cards: the person decides about a tool, where they asked for the answer or on another account."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from crossmemory import db, inbox, linking, turns
from crossmemory.conf import surface_label
from crossmemory.exceptions import CrossmemoryError, NotFound
from crossmemory.intake.decisions import decide
from crossmemory.models import Owner, ToolCall
from crossmemory.runs import cards

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

_PRESSED = re.compile(rf"([0-9a-f]{{32}}):([yn]):([0-9a-f]{{{cards.HASH_LENGTH}}})")


def pressed(case: Case, data: str) -> None:
    """A button of a card: `data` is the request's public id, the choice, and the beginning of the arguments' hash."""
    case.conversation = linking.existing_conversation(case.link) if case.link is not None else None
    try:
        decision = _decide(case, data)
    except turns.AlreadyDecided as error:
        decision = error.code
        case.tell(_too_late(error))
    except CrossmemoryError as error:
        decision = error.code
        case.tell(_("This cannot be decided here: please decide on the site."))
    inbox.done(case.row, f"tool {decision}", link=case.link, conversation=case.conversation)


def _decide(case: Case, data: str) -> str:
    """Carry out the press; returns the decision. Raises what `decide` raises, NotFound for somebody else's."""
    found = _PRESSED.fullmatch(data)
    if found is None or case.link is None:
        raise NotFound
    person = Owner(case.link.user_id, case.link.tenant, case.surface.agent)  # who may have asked elsewhere
    calls = ToolCall.objects.using(db.write_alias(ToolCall)).of(person).select_related("conversation")
    call = calls.filter(uid=uuid.UUID(found[1])).first()
    if call is None:
        raise NotFound
    if call.status == ToolCall.Status.REQUESTED and not cards.may_decide(call, case.link):
        raise turns.NotHere
    if not call.args_hash.startswith(found[3]):
        raise turns.OtherArguments
    decision = "approved" if found[2] == "y" else "denied"
    decide(
        call.conversation,
        call.uid,
        decision,  # type: ignore[arg-type]
        call.args_hash,
        by=case.person,
        where=case.link.surface,
    )
    return decision


def _too_late(error: turns.AlreadyDecided) -> str:
    decided = {
        "approved": _("This was approved already."),
        "denied": _("This was not approved."),
        "expired": _("It is too late: nobody decided in time."),
        "cancelled": _("This is no longer asked for."),
    }[str(error.facts["decision"])]
    where = error.facts["where"]
    return f"{decided} ({surface_label(str(where))})" if where else decided
