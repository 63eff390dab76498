"""One update from the inbox: whose it is, and what it leads to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils import translation

from crossmemory import db, inbox, linking, outbox
from crossmemory.intake import asking, buttons, commands, edits, reaching, speaking, strangers
from crossmemory.intake.case import Case, Piece
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import surfaces


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was done before an update is carried out, outside its transaction."""

    rest: Sequence[InboundUpdate] = ()  # the other pieces of its album
    parts: Mapping[int, list[Any]] = field(default_factory=dict)  # by update: its parts, with the files that came
    notes: Sequence[str] = ()  # what the person is told about that


def handle(row: InboundUpdate, prepared: Prepared | None = None) -> bool:
    """Carry out one stored update. False when somebody else did meanwhile.

    What it leads to (a message with its queued run, a notice, a changed link) and "handled" are one transaction.
    Whatever is raised leaves the row as it was; `inbox.retry` is the caller's business.
    """
    prepared = prepared or Prepared()
    surface = surfaces[row.surface]
    inbound = surface.parse(bytes(row.raw))
    with transaction.atomic(using=db.write_alias(InboundUpdate)):
        if not inbox.claim(row):
            return False
        rest = [each for each in prepared.rest if inbox.claim(each)]
        pieces = [Piece(each, surface.parse(bytes(each.raw)), prepared.parts.get(each.pk)) for each in (row, *rest)]
        link = linking.active(row.surface, row.account, inbound.sender)
        language = (link.language if link else "") or inbound.language
        case = Case(row, surface, inbound, link, pieces)
        with translation.override(linking.language_of(language)):
            for note in prepared.notes:
                case.tell(note)
            _carry_out(case)
            case.send()
    return True


def _carry_out(case: Case) -> None:
    row, inbound, link = case.row, case.inbound, case.link
    match inbound.kind:
        case "skip":
            inbox.skip(row, inbound.reason, link=link)
        case "reaction":
            inbox.skip(row, f"reaction {inbound.text}".strip(), link=link)
        case "moved":
            outbox.follow(row.surface, row.account, inbound.chat, inbound.text)
            inbox.follow(row.surface, row.account, inbound.chat, inbound.text)
            inbox.done(row, "moved")
        case "reachable" | "unreachable":
            reaching.carry_out(case)
        case "button":
            buttons.press(case)
        case "edit":
            edits.carry_out(case)
        case "command" if not inbound.private:
            inbox.done(row, strangers.only_in_private(case))
        case "command":
            commands.carry_out(case)
        case "text" if link is None and inbound.private:
            inbox.done(row, strangers.answer(case))
        case "text" if link is None:
            inbox.skip(row, "group stranger")
        case "text":
            if not asking.answered(case):
                speaking.carry_out(case, link)
