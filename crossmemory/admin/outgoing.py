"""What must go out: the ledger, with what failed and a way to put it right."""

from typing import Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from crossmemory import outbox
from crossmemory.admin import links
from crossmemory.admin.base import Fieldsets, HistoryAdmin, pretty
from crossmemory.admin.filters import AttentionFilter, SurfaceFilter
from crossmemory.admin.permissions import may, may_read
from crossmemory.models import Delivery, InboundUpdate, Message

Status = Delivery.Status


@admin.register(Delivery)
class DeliveryAdmin(HistoryAdmin):
    person = "conversation__user"
    unread = ("conversation__title",)
    words = ("payload",)
    list_display = ("id", "who", "place", "status", "error_line", "created_at", "attempts")
    list_filter = (AttentionFilter, "status", SurfaceFilter)
    list_select_related = ("conversation__user",)
    narrowed_by = ("conversation__id__exact", "message__id__exact")
    attention_field, attention = "status", (Status.FAILED, Status.UNKNOWN)
    actions = ("retry", "cancel")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        about = ("uid", "who", "conversation_link", "message_link", "answers")
        place = ("where", "account", "chat", "topic", "reply_to", "piece")
        state = ("status", "attempts", "repeated", "not_before", "handed_at", "external_id", "error")
        times = ("created_at", "sent_at")
        words = "payload_json" if may_read(request) else "hidden"
        return [
            (None, {"fields": about}),
            (_("Where to"), {"fields": place}),
            (_("State"), {"fields": (*state, *times, words)}),
        ]

    def has_resolve_permission(self, request: HttpRequest) -> bool:
        return may(request, "change", "delivery")

    @admin.action(description=_("Send again"), permissions=["resolve"])
    def retry(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        """With a failed piece go the later ones of its message; nothing goes to an account that was disconnected."""
        found = outbox.revive(rows)
        if found.again or not found.disconnected:
            text = ngettext("%d piece will be sent again.", "%d pieces will be sent again.", found.again)
            self.message_user(request, text % found.again, messages.SUCCESS if found.again else messages.WARNING)
        if found.disconnected:
            text = ngettext(
                "%d piece is not sent: that account is no longer connected.",
                "%d pieces are not sent: those accounts are no longer connected.",
                found.disconnected,
            )
            self.message_user(request, text % found.disconnected, messages.WARNING)

    @admin.action(description=_("Cancel"), permissions=["resolve"])
    def cancel(self, request: HttpRequest, rows: QuerySet[Delivery]) -> None:
        count = rows.filter(status__in=outbox.UNDECIDED).order_by().update(status=Status.CANCELLED, lease_until=None)
        text = ngettext("%d piece is cancelled.", "%d pieces are cancelled.", count)
        self.message_user(request, text % count, messages.SUCCESS if count else messages.WARNING)

    @admin.display(description=_("where to"))
    def place(self, row: Delivery) -> str:
        return f"{self.where(row)} · {row.chat}"

    @admin.display(description=_("error"))
    def error_line(self, row: Delivery) -> str:
        return row.error.partition("\n")[0][:120] or "-"

    @admin.display(description=_("message"))
    def message_link(self, row: Delivery) -> str:
        return links.change_link(self.admin_site, Message, row.message_id, f"#{row.message_id}")

    @admin.display(description=_("answers"))
    def answers(self, row: Delivery) -> str:
        return links.change_link(self.admin_site, InboundUpdate, row.inbound_id, f"#{row.inbound_id}")

    @admin.display(description=_("payload"))
    def payload_json(self, row: Delivery) -> str:
        return pretty(row.payload)
