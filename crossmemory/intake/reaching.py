"""A person shut us out, or let us in again: what they did last counts, in whatever order it arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossmemory import db, inbox, linking, outbox
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import surfaces

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

_LOOK_BACK = 20  # updates of that person: what is older is handled late only when somebody revives it


def carry_out(case: Case) -> None:
    """Mark the chat, or lift the mark. Nothing is said, and no history is touched."""
    row, inbound, link = case.row, case.inbound, case.link
    if _outdated(case):
        inbox.done(row, f"{inbound.kind}, outdated", link=link)
        return
    if inbound.kind == "unreachable":
        outbox.block(row.surface, row.account, inbound.chat, inbound.reason)
    elif link is not None:
        linking.seen(link)
    inbox.done(row, inbound.kind, link=link)


def _outdated(case: Case) -> bool:
    """Whether the person did something later, by the platform's clock, that was handled before this: a row that was
    parked and revived, or two that arrived the wrong way round."""
    row, sent_at = case.row, case.inbound.sent_at
    if sent_at is None or not row.sender:
        return False
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(
        surface=row.surface, account=row.account, sender=row.sender, status=InboundUpdate.Status.DONE
    )
    parse = surfaces[row.surface].parse
    newest = [parse(bytes(each.raw)) for each in rows.exclude(pk=row.pk).order_by("-pk")[:_LOOK_BACK] if each.raw]
    return any(each.private and each.sent_at is not None and each.sent_at > sent_at for each in newest)
