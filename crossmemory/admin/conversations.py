"""Conversations: read like a chat, deleted as a whole."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crossmemory import erase
from crossmemory.admin import chat, links, preview
from crossmemory.admin.base import Fieldsets, HistoryAdmin
from crossmemory.admin.filters import SurfaceFilter
from crossmemory.admin.paging import UnsortableChangeList
from crossmemory.admin.permissions import may, may_read
from crossmemory.models import Conversation, Delivery, Event, InboundUpdate, Message, Run


def untitled(row: Conversation) -> Conversation:
    """The row under its number: a title may hold words, and Django shows `str(row)` in many places."""
    row.title = f"#{row.pk}"
    return row


class UntitledChangeList(UnsortableChangeList):
    """A list for staff who may not read what people said."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.result_list = [untitled(row) for row in self.result_list]


@admin.register(Conversation)
class ConversationAdmin(HistoryAdmin):
    change_form_template = "admin/crossmemory/conversation/change_form.html"
    ordering = ("-updated_at",)  # as the index crossmemory_conv_newest
    person = "user"
    words = ("title",)
    list_filter = (SurfaceFilter, "shared")
    list_select_related = ("user",)
    narrowed_by = ("user__id__exact",)

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        named = ("titled",) if may_read(request) else ("number",)
        return (*named, "who", "where", "updated_at", "shared", "reads", "agent")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        memory = ("shared", "reads", "singleton", "tenant", "agent")
        counters = (
            "uid",
            "head",
            "floor",
            "epoch",
            "kept_events",
            "kept_bytes",
            "read_seq",
            "created_at",
            "updated_at",
        )
        return [
            (gettext_lazy("Memory"), {"fields": memory, "classes": ("collapse",)}),
            (gettext_lazy("The log"), {"fields": counters, "classes": ("collapse",)}),
        ]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        return rows.defer(None) if may_read(request) else rows

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        row = super().get_object(request, object_id, from_field)
        return row if row is None or may_read(request) else untitled(row)

    def get_urls(self) -> list[Any]:
        here = path("would-see/", self.admin_site.admin_view(self.would_see), name="crossmemory_conversation_would_see")
        return [here, *super().get_urls()]

    def would_see(self, request: HttpRequest) -> HttpResponse:
        return preview.view(self, request)

    @admin.display(description=gettext_lazy("title"))
    def titled(self, row: Conversation) -> str:
        return str(row)

    @admin.display(description=gettext_lazy("conversation"))
    def number(self, row: Conversation) -> str:
        return f"#{row.pk}"

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UnsortableChangeList]:
        return UnsortableChangeList if may_read(request) else UntitledChangeList

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        context.update(self._chat(request, obj))
        return super().render_change_form(request, context, add, change, form_url, obj)

    def _chat(self, request: HttpRequest, conversation: Conversation) -> dict[str, Any]:
        everywhere = request.GET.get("places") == "all"
        before = request.GET.get("before", "")
        number = int(before) if before.isascii() and before.isdecimal() and len(before) < 19 else None
        words = may_read(request)
        read = chat.of_person if everywhere else chat.of_conversation
        site = self.admin_site
        related = [
            (model._meta.verbose_name_plural, links.list_url(site, model, conversation__id__exact=conversation.pk))
            for model in (Run, Message, Event, Delivery, InboundUpdate)
            if may(request, "view", str(model._meta.model_name))
        ]
        return {
            "page": read(conversation, number, site, words=words),
            "conversation": conversation,
            "everywhere": everywhere,
            "may_read": words,
            "newest": number is None,
            "who": links.person_link(site, conversation.user),
            "theirs": links.list_url(site, Conversation, user__id__exact=conversation.user_id),
            "related": [(name, url) for name, url in related if url],
            "would_see": preview.address(conversation) if words else "",
        }

    # Deleting. Django would collect (and show) every message of a conversation: the app forgets it set by set.

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return may(request, "delete", "conversation")

    def get_deleted_objects(
        self, objs: Any, request: HttpRequest
    ) -> tuple[list[Any], dict[Any, Any], set[Any], list[Any]]:
        rows = list(objs)
        lines = [_("%s, with all that was said in it") % self._named(request, row) for row in rows]
        missing = set() if self.has_delete_permission(request) else {self.opts.verbose_name}
        return lines, {self.opts.verbose_name_plural: len(rows)}, missing, []

    def delete_model(self, request: HttpRequest, obj: Conversation) -> None:
        erase.conversation(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Conversation]) -> None:
        for row in queryset:
            erase.conversation(row)

    def log_deletions(self, request: HttpRequest, queryset: Iterable[Any]) -> Any:
        """The admin's own log outlives the conversation: it gets a number, not the title."""
        return super().log_deletions(request, [untitled(row) for row in queryset])  # type: ignore[arg-type]

    def _named(self, request: HttpRequest, row: Conversation) -> str:
        return f"#{row.pk} {row}" if may_read(request) else f"#{row.pk}"
