"""Messages and events: read only, exactly as the log wrote them."""

import json
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.db.models.functions import Left
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links, search
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pre, pretty
from crossmemory.admin.filters import SpeakerFilter
from crossmemory.admin.permissions import may_read
from crossmemory.models import Event, Message, MessageChunk, MessageRevision, Run

_EXCERPT = 120  # characters of a message that a list shows


class LogAdmin(HistoryAdmin):
    """Rows with a place in a conversation's log."""

    person = "conversation__user"
    unread = ("conversation__title",)
    list_select_related = ("conversation__user",)
    narrowed_by = ("conversation__id__exact",)

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """Newest first; inside one conversation by place, which its index answers."""
        return ("-seq",) if "conversation__id__exact" in request.GET else ("-pk",)

    @admin.display(description=_("reply"))
    def reply(self, row: Any) -> str:
        return links.change_link(self.admin_site, Run, row.run_id, f"#{row.run_id}")


@admin.register(Message)
class MessageAdmin(LogAdmin):
    words = ("text", "parts")
    list_filter = (SpeakerFilter,)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        said = ("excerpt",) if may_read(request) else ()
        return ("id", "who", "where", "conversation_link", "role", *said, "created_at", "status", "shared")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        said = ("said", "parts_json") if may_read(request) else ("hidden",)
        return [
            (None, {"fields": ("uid", "who", "where", "conversation_link", "seq", "turn", "role", "status", *said)}),
            (_("Author"), {"fields": ("author_kind", "author_id", "tenant", "agent", "client_id", "reply")}),
            (_("Memory and time"), {"fields": ("shared", "sent_at", "created_at")}),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if self._is_own(request, "changelist") and may_read(request):
            rows = rows.annotate(beginning=Left("text", _EXCERPT))
        return rows

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        found = search.said(queryset, search_term) if may_read(request) else None
        return (found, False) if found is not None else super().get_search_results(request, queryset, search_term)

    def get_changelist_instance(self, request: HttpRequest) -> Any:
        """The line under the box says what may be looked for."""
        page = super().get_changelist_instance(request)
        page.search_help_text = str(search.HELP_WITH_WORDS if may_read(request) else search.HELP)
        return page

    @admin.display(description=_("what was said"))
    def excerpt(self, row: Any) -> str:
        return Truncator(row.beginning).chars(_EXCERPT - 1)

    @admin.display(description=_("what was said"))
    def said(self, row: Message) -> str:
        return format_html('<div class="cm-plain">{}</div>', row.text)

    @admin.display(description=_("parts"))
    def parts_json(self, row: Message) -> str:
        return pretty(row.parts)


@admin.register(Event)
class EventAdmin(LogAdmin):
    words = ("body",)
    list_display = ("id", "who", "where", "conversation_link", "seq", "type", "bytes", "created_at")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        said = "body_json" if may_read(request) else "hidden"
        fields = ("who", "where", "conversation_link", "seq", "type", "reply", "about", "opens_turn", "bytes")
        return [(None, {"fields": (*fields, "created_at", said)})]

    @admin.display(description=_("message"))
    def about(self, row: Event) -> str:
        return links.change_link(self.admin_site, Message, row.message_id, f"#{row.message_id}")

    @admin.display(description=_("body"))
    def body_json(self, row: Event) -> str:
        try:
            return pretty(json.loads(row.body))
        except ValueError:
            return pre(row.body)


class PieceAdmin(HistoryAdmin):
    """Rows that hang on a message."""

    person = "message__conversation__user"
    words = ("text",)
    unread = ("message__text", "message__parts", "message__conversation__title")
    list_select_related = ("message__conversation__user",)
    narrowed_by = ("message__id__exact",)

    @admin.display(description=_("message"))
    def message_link(self, row: Any) -> str:
        return links.change_link(self.admin_site, Message, row.message_id, f"#{row.message_id}")

    @admin.display(description=_("what was said"))
    def said(self, row: Any) -> str:
        return format_html('<div class="cm-plain">{}</div>', row.text)


@admin.register(MessageChunk)
class MessageChunkAdmin(PieceAdmin):
    list_display = ("id", "who", "message_link", "offset")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        return [(None, {"fields": ("who", "message_link", "offset", "said" if may_read(request) else "hidden")})]


@admin.register(MessageRevision)
class MessageRevisionAdmin(PieceAdmin):
    list_display = ("id", "who", "message_link", "created_at", "expires_at")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        said = "said" if may_read(request) else "hidden"
        return [(None, {"fields": ("who", "message_link", "created_at", "expires_at", said)})]
