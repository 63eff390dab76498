"""Tool calls: what the assistant used or asked to use, and who decided, where and when."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from crossmemory.admin import links
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pretty
from crossmemory.admin.permissions import may_read
from crossmemory.models import Run, ToolCall


@admin.register(ToolCall)
class ToolCallAdmin(HistoryAdmin):
    person = "conversation__user"
    unread = ("conversation__title",)
    words = ("title", "arguments", "result", "error")
    heavy = ("arguments", "result", "error")
    list_display = ("id", "who", "where", "conversation_link", "name", "status", "created_at", "decided_at")
    list_filter = ("status",)
    list_select_related = ("conversation__user",)
    narrowed_by = ("conversation__id__exact", "run__id__exact")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        said = ("title", "arguments_json", "result_json", "error") if may_read(request) else ("hidden",)
        decided = ("surfaces", "fresh_sign_in", "expires_at", "decided_by", "decided_where", "decided_at")
        return [
            (None, {"fields": ("uid", "who", "where", "conversation_link", "reply", "name", "status", *said)}),
            (_("Decision"), {"fields": decided}),
            (_("Time"), {"fields": ("created_at", "finished_at")}),
        ]

    @admin.display(description=_("reply"))
    def reply(self, row: ToolCall) -> str:
        return links.change_link(self.admin_site, Run, row.run_id, f"#{row.run_id}")

    @admin.display(description=_("arguments"))
    def arguments_json(self, row: ToolCall) -> str:
        return pretty(row.arguments)

    @admin.display(description=_("result"))
    def result_json(self, row: ToolCall) -> str:
        return pretty(row.result)
