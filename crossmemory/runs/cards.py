"""Cards: what the assistant asks permission for, shown where the person asked, with buttons where they may decide.

What still waits after a moment is also shown on the other accounts where the person decides: they may have left.

A card is a delivery of its own. Whoever decides, wherever: the senders see that it is still open and give it its last
text. So nothing has to be remembered when a decision is made, and a restart in between changes nothing.
"""

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now
from django.utils import timezone, translation
from django.utils.formats import time_format
from django.utils.translation import gettext as _

from crossmemory import db, linking, outbox
from crossmemory.conf import surface_label
from crossmemory.models import Conversation, Delivery, Owner, Run, Sharing, SurfaceLink, ToolCall, manner
from crossmemory.surfaces import surfaces

DATA = "tool"  # what the data of these buttons begins with
HASH_LENGTH = 16  # hexadecimal digits of the arguments' hash in that data, which has room for 64 bytes

ELSEWHERE_SECONDS = 10.0  # how long a request stands only where the person asked

_MOST = 1200  # characters of arguments that a card shows


def ask(run: Run, calls: Sequence[ToolCall]) -> None:
    """Put requests where the answer goes, in the transaction that stores them; the language is the active one."""
    destination = run.destination
    if not destination:
        return
    link = _link(run.conversation, destination)
    for call in calls:
        payload: dict[str, Any] = {"text": said(call)}
        if may_decide(call, link):
            payload["buttons"] = _buttons(call)
        else:
            payload["text"] += "\n\n" + _("(I need your permission for this: please decide on the site.)")
        outbox.write(destination, [payload], conversation=run.conversation, tool_call=call)


def show_elsewhere(surface: str, account: str) -> int:
    """Show here what people who decide here were asked elsewhere, and still wait for; how many. Called by senders
    when they look.

    Not what was asked in a chat kept out of memory, nor on an account that is separate: nothing of that crosses.
    """
    using = db.write_alias(Delivery)
    links = SurfaceLink.objects.using(using).filter(
        surface=surface, account=account, status=SurfaceLink.Status.ACTIVE, approvals=True, unreachable=""
    )
    links = links.exclude(sharing=Sharing.SEPARATE).exclude(chat="")
    person = {"user": OuterRef("conversation__user"), "tenant": OuterRef("conversation__tenant")}
    here = Delivery.objects.using(using).filter(tool_call=OuterRef("pk"), surface=surface, account=account)
    calls = ToolCall.objects.using(using)
    waiting = calls.filter(
        Exists(links.filter(**person)),
        ~Exists(here),
        status=ToolCall.Status.REQUESTED,
        created_at__lt=Now() - timedelta(seconds=ELSEWHERE_SECONDS),
        expires_at__gt=Now(),
        fresh_sign_in=None,
        conversation__shared=True,
        conversation__agent=surfaces[surface].agent,
    )
    shown = 0
    for call in waiting.select_related("conversation").order_by("pk"):
        link = links.filter(user=call.conversation.user_id, tenant=call.conversation.tenant).first()
        if link is None or not may_decide(call, link):
            continue
        with transaction.atomic(using=using):
            # Of senders that look at the same time one shows it: the others look again once they have the row.
            calls.select_for_update().filter(pk=call.pk).first()
            if not waiting.filter(pk=call.pk).exists():
                continue
            place = {"surface": surface, "account": account, "chat": link.chat}
            with translation.override(linking.language_of(link.language)):
                asked = f"{surface_label(call.conversation.surface)}: {call.conversation.title}".rstrip(": ")
                payload = {"text": f"{said(call)}\n\n({asked})", "buttons": _buttons(call)}
            outbox.write(place, [payload], conversation=call.conversation, tool_call=call)
            shown += 1
    return shown


def may_decide(call: ToolCall, link: SurfaceLink | None) -> bool:
    """Whether the person may decide there: they allow it, the tool does, and no fresh sign-in is needed."""
    if link is None or not link.approvals or call.fresh_sign_in is not None:
        return False
    return surfaces[link.surface].has_buttons and (call.surfaces is None or link.surface in call.surfaces)


def said(call: ToolCall) -> str:
    """What is asked, with the arguments; so long that they do not fit, they say so."""
    shown = _arguments(call.arguments)
    if len(shown) > _MOST:
        shown = shown[:_MOST] + "…\n" + _("(All of it stands on the site.)")
    return "\n\n".join(filter(None, [call.title or call.name, shown]))


def close(surface: str, account: str) -> int:
    """Give the cards about which somebody decided their last text; how many. Called by senders when they look."""
    using = db.write_alias(Delivery)
    mine = Delivery.objects.using(using).filter(surface=surface, account=account, card_open=True)
    decided = mine.exclude(tool_call__status=ToolCall.Status.REQUESTED)
    closed = 0
    for card in decided.select_related("tool_call", "conversation").order_by("pk")[:100]:
        with transaction.atomic(using=using):
            if mine.filter(pk=card.pk).update(card_open=False):
                _close(card, using)
                closed += 1
    return closed


def _close(card: Delivery, using: str) -> None:
    unsent = Delivery.objects.using(using).filter(pk=card.pk, status=Delivery.Status.PENDING)
    if unsent.update(status=Delivery.Status.CANCELLED) or card.tool_call is None or card.conversation is None:
        return
    place = {name: str(getattr(card, name)) for name in ("surface", "account", "chat", "topic")}
    owner = Owner(card.conversation.user_id, card.conversation.tenant)
    language, zone = manner(owner)
    link = _link(card.conversation, place)
    with translation.override(linking.language_of((link.language if link else "") or language)):
        text = f"{said(card.tool_call)}\n\n{_outcome(card.tool_call, zone)}"
    outbox.write(place, [{"text": text, "edits": str(card.uid)}], conversation=card.conversation)


def _outcome(call: ToolCall, zone: str) -> str:
    match call.status:
        case ToolCall.Status.DENIED:
            word = _("✗ Not approved")
        case ToolCall.Status.EXPIRED:
            return _("⌛ Nobody decided in time.")
        case ToolCall.Status.CANCELLED:
            return _("✗ No longer asked for.")
        case _:
            word = _("✓ Approved")
    at = time_format(timezone.localtime(call.decided_at, ZoneInfo(zone)), "TIME_FORMAT") if call.decided_at else ""
    return f"{word} · {surface_label(call.decided_where)} · {at}" if call.decided_where else word


def _buttons(call: ToolCall) -> list[list[dict[str, str]]]:
    return [[_button(call, "y", _("Approve")), _button(call, "n", _("Deny"))]]


def _button(call: ToolCall, choice: str, label: str) -> dict[str, str]:
    return {"text": label, "data": f"{DATA}:{call.uid.hex}:{choice}:{call.args_hash[:HASH_LENGTH]}"}


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, dict):
        return "" if arguments is None else json.dumps(arguments, ensure_ascii=False)
    values = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        for key, value in arguments.items()
    }
    return "\n".join(f"{key}: {value}" for key, value in values.items())


def _link(conversation: Conversation, destination: Any) -> SurfaceLink | None:
    """The person's own account in the chat where they asked: not a group, where others could press."""
    links = SurfaceLink.of_chat(destination["surface"], destination["account"], destination["chat"])
    return links.filter(user=conversation.user_id, tenant=conversation.tenant).first()
