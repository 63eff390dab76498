"""What came in, and who fetches it."""

import json
from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from crossmemory import inbox
from crossmemory.admin import links
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pre, pretty
from crossmemory.admin.filters import AttentionFilter, SurfaceFilter
from crossmemory.admin.permissions import may, may_read
from crossmemory.models import InboundUpdate, Message, Poller, SurfaceLink

Status = InboundUpdate.Status


@admin.register(InboundUpdate)
class InboundUpdateAdmin(HistoryAdmin):
    person = "link__user"
    words = ("raw", "error")
    list_display = ("id", "where", "external_id", "kind", "sender", "who", "status", "outcome", "received_at")
    list_filter = (AttentionFilter, SurfaceFilter, "status")
    list_select_related = ("link__user",)
    narrowed_by = ("conversation__id__exact", "link__id__exact")
    attention_field, attention = "status", (Status.DEAD,)
    actions = ("retry", "skip")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        words = ("error_text", "raw_json") if may_read(request) else ("hidden",)
        about = (
            "where",
            "account",
            "external_id",
            "kind",
            "sender",
            "who",
            "connected",
            "conversation_link",
            "message_link",
        )
        state = ("status", "outcome", "attempts", "not_before", "received_at", "finished_at")
        return [(None, {"fields": about}), (_("State"), {"fields": (*state, *words)})]

    def has_resolve_permission(self, request: HttpRequest) -> bool:
        return may(request, "change", "inboundupdate")

    @admin.action(description=_("Try again"), permissions=["resolve"])
    def retry(self, request: HttpRequest, rows: QuerySet[InboundUpdate]) -> None:
        """Rows whose raw update has expired have nothing left to try."""
        count = inbox.revive(rows.exclude(raw=b""))
        text = ngettext("%d update is tried again.", "%d updates are tried again.", count)
        self.message_user(request, text % count, messages.SUCCESS if count else messages.WARNING)

    @admin.action(description=_("Skip for good"), permissions=["resolve"])
    def skip(self, request: HttpRequest, rows: QuerySet[InboundUpdate]) -> None:
        dead = rows.filter(status=Status.DEAD)
        count = dead.update(status=Status.SKIPPED, outcome="skipped by staff", finished_at=Now())
        text = ngettext("%d update is skipped.", "%d updates are skipped.", count)
        self.message_user(request, text % count, messages.SUCCESS if count else messages.WARNING)

    @admin.display(description=_("connected account"))
    def connected(self, row: InboundUpdate) -> str:
        return links.change_link(self.admin_site, SurfaceLink, row.link_id, f"#{row.link_id}")

    @admin.display(description=_("message"))
    def message_link(self, row: InboundUpdate) -> str:
        return links.change_link(self.admin_site, Message, row.message_id, f"#{row.message_id}")

    @admin.display(description=_("error"))
    def error_text(self, row: InboundUpdate) -> str:
        return pre(row.error) if row.error else "-"

    @admin.display(description=_("raw"))
    def raw_json(self, row: InboundUpdate) -> str:
        raw = bytes(row.raw)
        if not raw:
            return _("no longer kept")  # type: ignore[return-value]
        try:
            return pretty(json.loads(raw))
        except ValueError:
            return pre(raw.decode(errors="backslashreplace"))


@admin.register(Poller)
class PollerAdmin(HistoryAdmin):
    list_display = ("where", "account", "current", "last_success_at", "owner", "offset", "lease_until")
    list_filter = (AttentionFilter, SurfaceFilter)
    attention_field = "state"
    attention = (Poller.State.CONFLICT, Poller.State.BACKING_OFF, Poller.State.UNAUTHORISED)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        now = ("current", "detail", "last_success_at", "offset")
        return [(None, {"fields": ("where", "account", *now, "owner", "lease_until", "attempt")})]

    @admin.display(description=_("state"))
    def current(self, row: Poller) -> str:
        return str(row.current.label)
