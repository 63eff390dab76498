"""Answering again, as the person asks: what they edited after it was answered, or their newest words."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from crossmemory import db, inbox
from crossmemory.budget import OverBudget
from crossmemory.exceptions import AgentNotAllowed
from crossmemory.intake import edits
from crossmemory.intake.decisions import answer_again
from crossmemory.models import InboundUpdate, Message, SurfaceLink
from crossmemory.pausing import Pauses

if TYPE_CHECKING:
    from crossmemory.intake.case import Case


def asked(case: Case, link: SurfaceLink) -> str:
    """/again: the message that was edited last, if that was the last thing that happened; else the newest words."""
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(
        surface=case.row.surface, account=case.row.account, sender=case.row.sender, link=link.pk, pk__lt=case.row.pk
    )
    newest = rows.exclude(status=InboundUpdate.Status.SKIPPED).order_by("-pk").select_related("message").first()
    here = newest is not None and case.conversation is not None and newest.conversation_id == case.conversation.pk
    edited = newest.message if newest is not None and here and newest.outcome == edits.EDITED_LATE else None
    return _begin(case, edited)


def pressed(case: Case, data: str) -> None:
    """The button below the offer: `data` is the message's public id."""
    link = case.link
    conversation = edits.existing_conversation(case, link) if link is not None else None
    message = None
    if conversation is not None:
        try:
            wanted = uuid.UUID(data)
        except ValueError:
            wanted = None
        rows = Message.objects.using(db.write_alias(Message)).filter(conversation=conversation.pk, status="complete")
        message = rows.filter(uid=wanted).first() if wanted else None
    case.conversation = conversation
    if message is None:
        case.tell(_("This message is no longer here."))
    elif problem := _begin(case, message, quietly=True):
        case.tell(problem)
    inbox.done(case.row, "/again", link=link, conversation=conversation)


def _begin(case: Case, message: Message | None, *, quietly: bool = False) -> str:
    assert case.conversation is not None
    try:
        if answer_again(case.conversation, case.person, turn=message.turn if message is not None else None):
            paused = Pauses().over(case.conversation.agent, case.conversation.surface)
            if paused is not None:
                return paused.words
            return "" if quietly else _("I answer again.")
    except AgentNotAllowed:
        return _("You may not use this assistant.")
    except OverBudget:
        return _("You have used up what I may do for you in one day.")
    return _("There is nothing to answer again, or an answer is on its way already.")
