"""Replies: one turn of the assistant, what it saw for it, and how it went."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crossmemory.admin import costs, links, saw
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pre, pretty
from crossmemory.admin.filters import AttentionFilter
from crossmemory.admin.permissions import may_read
from crossmemory.models import Message, Run


@admin.register(Run)
class RunAdmin(HistoryAdmin):
    change_form_template = "admin/crossmemory/run/change_form.html"
    person = "conversation__user"
    unread = ("conversation__title",)
    words = ("error",)  # a traceback may quote what was said
    heavy = ("manifest", "usage", "destination")
    list_display = ("id", "who", "where", "conversation_link", "status", "created_at", "took", "remarks")
    list_filter = (AttentionFilter, "status")
    list_select_related = ("conversation__user",)
    narrowed_by = ("conversation__id__exact",)
    attention_field, attention = "status", (Run.Status.FAILED, Run.Status.ABANDONED)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        about = ("uid", "who", "where", "conversation_link", "asked_by", "answer", "agent", "status", "attempt")
        times = ("created_at", "waited", "first_text", "took", "finished_at", "worker", "lease_until")
        how = ("remarks", "destination_json", "usage_json", "error_text" if may_read(request) else "error_kind")
        return [
            (None, {"fields": about}),
            (gettext_lazy("Time"), {"fields": times}),
            (gettext_lazy("How it went"), {"fields": how}),
        ]

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> HttpResponse:
        words = may_read(request)
        context["costs"] = costs.read(obj, self.admin_site)
        context.update({"saw": saw.read(obj, self.admin_site, words=words), "may_read": words, "run": obj})
        context.update({"who": self.who(obj), "where": self.where(obj), "took": self.took(obj)})
        return super().render_change_form(request, context, add, change, form_url, obj)

    @admin.display(description=gettext_lazy("asked by"))
    def asked_by(self, run: Run) -> str:
        key = Message.objects.filter(conversation=run.conversation_id, seq=run.trigger).values_list("pk", flat=True)
        return links.change_link(self.admin_site, Message, key.first(), f"#{run.trigger}")

    @admin.display(description=gettext_lazy("answer"))
    def answer(self, run: Run) -> str:
        """The answer stands after its question in the same conversation, so the index on places finds it."""
        rows = Message.objects.filter(conversation=run.conversation_id, seq__gt=run.trigger, run=run.pk)
        found = rows.order_by("seq").values_list("pk", "seq").first()
        return links.change_link(self.admin_site, Message, found[0], f"#{found[1]}") if found else "-"

    @admin.display(description=gettext_lazy("waited"))
    def waited(self, run: Run) -> str:
        return seconds(run.created_at, run.started_at)

    @admin.display(description=gettext_lazy("first text after"))
    def first_text(self, run: Run) -> str:
        return seconds(run.started_at, run.first_text_at)

    @admin.display(description=gettext_lazy("took"))
    def took(self, run: Run) -> str:
        return seconds(run.started_at, run.finished_at)

    @admin.display(description=gettext_lazy("remarks"))
    def remarks(self, run: Run) -> str:
        """What was unusual, in words."""
        flags = ("degraded", "stop_requested", "tools_called")
        said = [str(run._meta.get_field(flag).verbose_name) for flag in flags if getattr(run, flag)]  # type: ignore[union-attr]
        if run.attempt > 1:
            said.append(_("attempt %d") % run.attempt)
        return " · ".join(said) or "-"

    @admin.display(description=gettext_lazy("usage"))
    def usage_json(self, run: Run) -> str:
        return pretty(run.usage)

    @admin.display(description=gettext_lazy("answer goes to"))
    def destination_json(self, run: Run) -> str:
        return pretty(run.destination)

    @admin.display(description=gettext_lazy("error"))
    def error_text(self, run: Run) -> str:
        return pre(run.error) if run.error else "-"

    @admin.display(description=gettext_lazy("error"))
    def error_kind(self, run: Run) -> str:
        """The name of the exception alone: the rest may quote what was said."""
        text = Run.objects.filter(pk=run.pk).values_list("error", flat=True).first() or ""
        lines = [line for line in text.splitlines() if line and not line[0].isspace()]
        name = lines[-1].partition(":")[0].partition("(")[0] if lines else ""
        return name if name.replace(".", "").isidentifier() else "-" if not text else _("hidden")


def seconds(start: datetime | None, end: datetime | None) -> str:
    """The time between two moments, in seconds."""
    if start is None or end is None:
        return "-"
    return _("%s s") % number_format((end - start).total_seconds(), 2)
