"""A conversation as staff read it: a page of messages in order, with what happened between them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.contrib.admin import AdminSite
from django.utils.safestring import mark_safe
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links
from crossmemory.conf import surface_label
from crossmemory.markup import to_html
from crossmemory.models import Conversation, Delivery, Event, Message, MessageChunk, Run

PAGE = 100
"""Messages on one page."""

#: what is told between the messages; everything else shows in the messages themselves
NOTES = {
    "conversation.renamed": _("The conversation was renamed."),
    "memory.boundary": _("The person started afresh: memory here begins after this."),
    "run.failed": _("The reply failed."),
    "run.stopped": _("The reply was stopped."),
    "run.abandoned": _("The reply was interrupted: the process that wrote it ended."),
    "message.redacted": _("A message was deleted."),
}


@dataclass(frozen=True, slots=True)
class Sent:
    """One piece of a message on its way to a surface."""

    id: int
    label: str
    status: str
    status_label: str
    error: str


@dataclass(slots=True)
class Line:
    """One line of the chat: a message, or (with a `note`) something that happened."""

    at: datetime
    role: str = ""
    note: Any = ""
    message: Message | None = None
    run_url: str | None = None  # the reply's page
    author: str = ""
    label: str = ""
    here: bool = True
    text: str = ""
    html: str = ""
    deliveries: list[Sent] = field(default_factory=list)
    degraded: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """Lines in order, and where the page before them ends (None: these are the first)."""

    lines: Sequence[Line]
    before: int | None


def of_conversation(conversation: Conversation, before: int | None, site: AdminSite, *, words: bool) -> Page:
    """The newest messages of one conversation below the place `before`, with what happened between them."""
    rows = _messages(words).filter(conversation=conversation.pk)
    if before is not None:
        rows = rows.filter(seq__lt=before)
    found = list(rows.order_by("-seq")[: PAGE + 1])
    more, found = len(found) > PAGE, found[:PAGE][::-1]
    lines = _lines(found, conversation, site, words=words)
    first = found[0].seq if more else 1
    placed = [(line.message.seq, line) for line in lines if line.message is not None]
    placed += _notes(conversation, first, before, site)
    placed.sort(key=lambda each: each[0])
    return Page([line for _, line in placed], found[0].seq if more else None)


def of_person(conversation: Conversation, before: int | None, site: AdminSite, *, words: bool) -> Page:
    """The newest messages of this person with this assistant on all surfaces, below the key `before`; by key.

    Two reads: one index holds what feeds memory, another what does not.
    """
    found: list[Message] = []
    for remembered in (True, False):
        rows = _messages(words).filter(owner=conversation.user_id, tenant=conversation.tenant, agent=conversation.agent)
        about = {"shared": True, "status": Message.Status.COMPLETE}
        rows = rows.filter(**about) if remembered else rows.exclude(**about)
        if before is not None:
            rows = rows.filter(pk__lt=before)
        found += rows.order_by("-pk")[: PAGE + 1]
    found.sort(key=lambda message: message.pk, reverse=True)
    more, found = len(found) > PAGE, found[:PAGE][::-1]
    return Page(_lines(found, conversation, site, words=words), found[0].pk if more else None)


def _messages(words: bool) -> Any:
    rows = Message.objects.select_related("conversation").defer("parts", "conversation__title")
    return rows if words else rows.defer("text", "parts", "conversation__title")


def _lines(messages: Sequence[Message], conversation: Conversation, site: AdminSite, *, words: bool) -> list[Line]:
    keys = [message.pk for message in messages]
    deliveries = _deliveries(keys)
    writing = _written(messages) if words else {}
    run_ids = {message.run_id for message in messages if message.run_id}
    degraded = set(Run.objects.filter(pk__in=run_ids, degraded=True).values_list("pk", flat=True))
    person = conversation.user.get_username()
    lines = []
    for message in messages:
        text = (writing.get(message.pk) or message.text) if words else ""
        assistant = message.role == Message.Role.ASSISTANT
        lines.append(
            Line(
                at=message.created_at,
                role=message.role,
                message=message,
                run_url=_run_url(site, message.run_id),
                author=_author(message, person),
                label=surface_label(message.conversation.surface),
                here=message.conversation_id == conversation.pk,
                text=text,
                # Safe: to_html sanitises what it makes.
                html=mark_safe(to_html(text)) if assistant and text else "",
                deliveries=deliveries[message.pk],
                degraded=message.run_id in degraded,
            )
        )
    return lines


def _run_url(site: AdminSite, run_id: int | None) -> str | None:
    return None if run_id is None else links.change_url(site, Run, run_id)


def _author(message: Message, person: str) -> str:
    if message.author_kind == Message.Author.USER:
        return person
    kind = message.get_author_kind_display()
    return f"{kind} · {message.author_id}" if message.author_id else kind


def _deliveries(keys: Iterable[int]) -> dict[int, list[Sent]]:
    found: dict[int, list[Sent]] = defaultdict(list)
    rows = Delivery.objects.filter(message__in=keys).order_by("pk")
    for row in rows.only("message_id", "surface", "status", "error"):
        sent = Sent(row.pk, surface_label(row.surface), row.status, row.get_status_display(), row.error)
        found[row.message_id or 0].append(sent)
    return found


def _written(messages: Iterable[Message]) -> dict[int, str]:
    """The texts so far of messages that are being written."""
    keys = [message.pk for message in messages if message.status == Message.Status.WRITING]
    if not keys:
        return {}
    texts: dict[int, str] = defaultdict(str)
    pieces = MessageChunk.objects.filter(message__in=keys).order_by("message", "offset")
    for key, text in pieces.values_list("message", "text"):
        texts[key] += text
    return texts


def _notes(conversation: Conversation, first: int, before: int | None, site: AdminSite) -> list[tuple[int, Line]]:
    """What happened between these places, by the index on (conversation, seq), and without any event's body."""
    events = Event.objects.filter(conversation=conversation.pk, seq__gte=first, type__in=NOTES)
    if before is not None:
        events = events.filter(seq__lt=before)
    newest = events.order_by("-seq").values_list("seq", "type", "run_id", "created_at")[:PAGE]
    return [(seq, Line(at=at, note=NOTES[type_], run_url=_run_url(site, run_id))) for seq, type_, run_id, at in newest]
