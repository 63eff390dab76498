"""Edits: other words for what was said. Never a turn by themselves.

Before the answer was begun they replace the words, and that is all. Afterwards the person may have it answered again.
"""

from dataclasses import replace

from django.utils.translation import gettext as _

from crossmemory import attachments, inbox, linking, log
from crossmemory.exceptions import Invalid
from crossmemory.intake import groups
from crossmemory.intake.case import Case, Piece
from crossmemory.intake.speaking import in_order
from crossmemory.models import Conversation, InboundUpdate, Message, Run, SurfaceLink
from crossmemory.surfaces import Inbound, surfaces

EDITED = "edited"  # before it was answered
EDITED_LATE = "edited after the answer"


def carry_out(case: Case) -> None:
    """Give a message its new words, wherever it is known here."""
    row, link = case.row, case.link
    if link is None:
        inbox.skip(row, "edit by a stranger")
        return
    conversation = existing_conversation(case, link)
    pieces = conversation and inbox.pieces_of(row.surface, row.account, case.inbound.about, conversation)
    message = pieces[0].message if pieces else None
    if conversation is None or not pieces or message is None or message.status != Message.Status.COMPLETE:
        inbox.skip(row, "edit of what is not known here", link=link)
        return
    case.conversation = conversation
    linking.seen(link)
    try:
        outcome = _edit(case, message, _as_it_was(case, pieces))
    except Invalid as error:
        outcome = error.code
    inbox.done(row, outcome, link=link, conversation=conversation, message=message.pk, about=case.inbound.about)


def brings_files(row: InboundUpdate, inbound: Inbound) -> bool:
    """Whether an edit puts other files into a message that is known here."""
    link = linking.active(row.surface, row.account, inbound.sender)
    conversation = linking.existing_conversation(link) if link is not None and inbound.private else None
    pieces = inbox.pieces_of(row.surface, row.account, inbound.about, conversation) if conversation is not None else []
    known = [each for each in pieces if each.about == inbound.about and each.raw]
    return bool(known) and not _same_files(surfaces[row.surface].parse(bytes(known[-1].raw)), inbound)


def existing_conversation(case: Case, link: SurfaceLink) -> Conversation | None:
    """Where the message that a case is about was said."""
    if case.inbound.private:
        return linking.existing_conversation(link)
    return groups.existing_conversation(case, link)


def _as_it_was(case: Case, rows: list[InboundUpdate]) -> list[Piece]:
    """The pieces of the message, each with its newest words before this edit."""
    newest = {row.about: row for row in rows if row.pk != case.row.pk}
    return in_order([Piece(row, case.surface.parse(bytes(row.raw))) for row in newest.values()])


def _edit(case: Case, message: Message, pieces: list[Piece]) -> str:
    new = case.pieces[0]
    held = list(message.parts or ())
    texts, parts, fresh = [], [], []
    for piece in pieces:
        count = len(piece.inbound.parts or ())
        mine, held = held[:count], held[count:]
        if piece.row.about != case.inbound.about:
            if not piece.row.raw:  # too old: what it said is no longer kept apart
                return "edit of an old album"
            said = piece.inbound
        elif _same_files(piece.inbound, new.inbound) or not piece.row.raw:
            mine = mine or list(message.parts or ())
            said = new.inbound
        else:
            mine = list(new.said.parts or ())
            fresh, said = mine, new.inbound
        texts.append(replace(said, parts=mine).whole)
        parts += mine
    fresh = attachments.completed(message.conversation, fresh) or []
    whole = attachments.completed(message.conversation, parts) if fresh else parts
    if not log.edit(message, "\n".join(texts), case.person, parts=whole or None):
        return "edit without a change"
    if fresh:
        attachments.replace(message.pk, whole or [])
    if _still_waits(message):
        return EDITED
    if not case.inbound.private:  # commands and buttons are for private chats
        return EDITED_LATE
    case.tell(
        _("You have changed a message that I had read already. Send %(again)s to have it answered again.")
        % {"again": _("/again")},
        [[(_("Answer again"), f"again:{message.uid}")]],
    )
    return EDITED_LATE


def _same_files(before: Inbound, after: Inbound) -> bool:
    """Whether an edit leaves the files what they are, and changes words only."""
    files = [[file.identity or file.reference for file in inbound.files] for inbound in (before, after)]
    return files[0] == files[1]


def _still_waits(message: Message) -> bool:
    """Whether nobody has begun to answer the message. Called after the edit, which holds the conversation's row: a
    run is claimed before that, or sees the new words."""
    if message.steer == Message.Steer.ACCEPTED:
        return Message.objects.using(message._state.db).filter(pk=message.pk, steer=message.steer).exists()
    waiting = Run.objects.using(message._state.db).filter(conversation=message.conversation_id, trigger=message.turn)
    return waiting.filter(status=Run.Status.QUEUED).exists()
