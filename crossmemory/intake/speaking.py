"""What a linked person says: a message in their log, with the run that will answer it."""

from functools import partial

from django.utils.translation import gettext as _

from crossmemory import db, inbox, linking
from crossmemory.agents import agents
from crossmemory.budget import OverBudget
from crossmemory.conf import settings
from crossmemory.exceptions import AgentNotAllowed, AttachmentError, Conflict, Invalid, TextTooLong, TooManyFiles
from crossmemory.intake import budget, groups
from crossmemory.intake.case import Case, Piece
from crossmemory.intake.messages import Said, say
from crossmemory.models import Conversation, InboundUpdate, SurfaceLink
from crossmemory.pausing import Paused, Pauses

#: outcome of a message with files that nobody can look into, after which the person was told so
UNSEEN = "message, files unseen"
#: outcome of a message that is answered later, after which the person was told so
PAUSED = "message, paused"


def carry_out(case: Case, link: SurfaceLink) -> None:
    """Store what was said; several pieces of an album are one message."""
    linking.seen(link, case.inbound.chat if case.inbound.private else "", case.inbound.name)
    conversation = conversation_of(case, link)
    case.conversation = conversation
    outcome, stored = _say(case, link, conversation)
    paused = Pauses().over(conversation.agent, conversation.surface)
    if stored is not None and paused is not None and not _was_told(conversation, paused):
        outcome = PAUSED
        case.tell(paused.words)
    elif stored is not None and stored.used is not None and budget.warn(case, link, stored.used):
        outcome = budget.WARNED
    elif stored is not None and _goes_unseen(case, link, conversation):
        outcome = UNSEEN
        case.tell(_("I cannot look into files here: I only know that you sent one. Please say in words what matters."))
    for piece in case.pieces:
        inbox.done(
            piece.row,
            outcome,
            link=link,
            conversation=conversation,
            message=stored.id if stored else None,
            about=piece.inbound.about,
        )


def conversation_of(case: Case, link: SurfaceLink) -> Conversation:
    """Where it is said: the surface's one conversation, or that of a group."""
    if case.inbound.private:
        return linking.conversation_of(link)
    return groups.existing_conversation(case, link) or groups.new_conversation(case, link)


def in_order(pieces: list[Piece]) -> list[Piece]:
    """As the platform numbered them, whatever the order in which they came."""
    return sorted(pieces, key=lambda piece: int(piece.inbound.message_id or 0))


def _say(case: Case, link: SurfaceLink, conversation: Conversation) -> tuple[str, Said | None]:
    row, pieces = case.row, in_order(list(case.pieces))
    parts = [part for piece in pieces for part in piece.said.parts or ()]
    store = partial(
        say,
        conversation,
        "\n".join(piece.said.whole for piece in pieces),
        author=case.person,
        client_id=f"{row.account}:{row.external_id}#{row.pk}",  # the platform's id alone may come again for other words
        sent_at=case.inbound.sent_at,
        destination=case.destination,
        quiet=_quiet(case),
    )
    try:
        try:
            stored = store(parts=parts or None)
        except (AttachmentError, TooManyFiles):  # the words are not lost for their files
            stored = store(parts=[part for piece in pieces for part in piece.inbound.parts or ()])
    except TextTooLong as error:
        case.tell(_("That message is too long for me. Please send it in shorter pieces."))
        return error.code, None
    except AgentNotAllowed as error:
        case.tell(_("You may not use this assistant any more. What you wrote was not kept."))
        return error.code, None
    except OverBudget as error:
        return budget.refuse(case, link, error.used), None
    except (Conflict, Invalid) as error:
        return error.code, None
    return "message", stored


def _quiet(case: Case) -> float:
    """Longer after a text that the platform has cut: people do not type 4,000 characters to end with them."""
    return settings.QUIET_SECONDS * (2 if case.inbound.unfinished else 1)


def _goes_unseen(case: Case, link: SurfaceLink, conversation: Conversation) -> bool:
    """Whether files came that neither a DESCRIBER nor the agent looks into; said once to each person."""
    if settings.DESCRIBER is not None or not case.inbound.private:
        return False
    seen = {"sticker", "photo"} if agents[conversation.agent].pictures else {"sticker"}
    parts = [part for piece in case.pieces if piece.inbound.files for part in piece.inbound.parts or ()]
    if all(part.get("type") in seen for part in parts):
        return False
    return not InboundUpdate.objects.using(link._state.db).filter(link=link.pk, outcome=UNSEEN).exists()


def _was_told(conversation: Conversation, paused: Paused) -> bool:
    """Whether this pause was spoken of in this conversation."""
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(conversation=conversation.pk)
    return rows.filter(outcome=PAUSED, finished_at__gte=paused.since).exists()
