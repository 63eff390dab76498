"""What the assistant saw: a run's manifest, read back into messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.admin import AdminSite
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links
from crossmemory.conf import surface_label
from crossmemory.models import Conversation, Message, Run

#: why a message was in reach and yet not shown to the assistant
REASONS: Mapping[str, Any] = {
    "window": _("Too long ago: older than the time that memory looks back."),
    "count": _("Too long ago: only the newest messages are shown."),
    "tokens": _("No room: newer messages filled the token budget."),
    "cut turn": _("An answer without its question, which was cut."),
    "not shared": _("Kept out of memory by the person."),
    "group": _("Said in a group: that stays there."),
    "unfinished": _("Never finished."),
    "deleted": _("Deleted."),
    "refused": _("Refused by the model."),
    "duplicate": _("A repetition of a message that is shown."),
    "blank": _("Says nothing."),
    "boundary": _("From before the person started afresh."),
    "set aside": _("Left out of this conversation by the person."),
    "too long": _("More than the model takes in: left out when it refused the whole."),
}

PLACEMENTS: Mapping[str, Any] = {
    "merged": _("Other conversations stand in the order of time."),
    "prepended": _("Other conversations stand before this one."),
    "late": _("Other conversations stand just before the new message."),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """One message of a manifest. Without `at` it is no longer there."""

    id: int
    label: str
    own: bool = False
    role: str = ""
    role_label: str = ""
    at: datetime | None = None
    text: str | None = None
    url: str | None = None  # the message's page
    reason: Any = ""


@dataclass(frozen=True, slots=True)
class Saw:
    """A whole manifest, ready to be shown."""

    used: list[Shown]
    left_out: list[Shown]
    placement: Any
    hours_back: float
    missing: bool
    more: bool  # older ones were left out too, and are not named


def read(run: Run, site: AdminSite, *, words: bool) -> Saw | None:
    """The messages that a run saw, in the order the assistant saw them, and those left out; None: nothing recorded.

    One query, whatever the number of messages.
    """
    if not isinstance(run.manifest, dict):
        return None
    return shown(run.manifest, run.conversation, site, words=words)


def shown(manifest: Mapping[str, Any], conversation: Conversation, site: AdminSite, *, words: bool) -> Saw:
    """A manifest of an answer in this conversation, read back into messages. One query."""
    used, left_out = manifest.get("used") or [], manifest.get("left_out") or []
    keys = {entry["id"] for entry in (*used, *left_out)}
    rows = Message.objects.filter(pk__in=keys).select_related("conversation").defer("parts", "conversation__title")
    # The owner is asked for once more: a manifest is no reason to show somebody else's words.
    rows = rows.filter(owner=conversation.user_id, tenant=conversation.tenant)
    if not words:
        rows = rows.defer("text", "parts", "conversation__title")
    found = {message.pk: message for message in rows}
    placement = manifest.get("placement", "")
    return Saw(
        used=[_shown(entry, found.get(entry["id"]), conversation, site, words) for entry in used],
        left_out=[_shown(entry, found.get(entry["id"]), conversation, site, words) for entry in left_out],
        placement=PLACEMENTS.get(placement, placement),
        hours_back=manifest.get("hours_back", 0),
        missing=bool(manifest.get("missing")),
        more=bool(manifest.get("more")),
    )


def _shown(
    entry: Mapping[str, Any], message: Message | None, conversation: Conversation, site: AdminSite, words: bool
) -> Shown:
    reason = entry.get("reason", "")
    reason = REASONS.get(reason, reason)
    if message is None:
        label = surface_label(entry["surface"]) if entry.get("surface") else ""
        return Shown(entry["id"], label, own=bool(entry.get("own")), reason=reason)
    return Shown(
        id=message.pk,
        label=surface_label(message.conversation.surface),
        own=message.conversation_id == conversation.pk,
        role=message.role,
        role_label=message.get_role_display(),
        at=message.created_at,
        text=message.text if words else None,
        url=links.change_url(site, Message, message.pk),
        reason=reason,
    )
