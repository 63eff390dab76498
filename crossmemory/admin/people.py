"""Connected accounts, the codes that make them, and people's preferences."""

from decimal import Decimal
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext_lazy as _

from crossmemory import budget
from crossmemory.admin.base import BigTableAdmin, Fieldsets, HistoryAdmin
from crossmemory.admin.filters import SurfaceFilter
from crossmemory.admin.permissions import may
from crossmemory.models import DailyUse, LinkCode, Preference, SurfaceLink


class PersonAdmin(HistoryAdmin):
    """Rows of a person."""

    person = "user"
    list_select_related = ("user",)
    narrowed_by = ("user__id__exact",)


@admin.register(SurfaceLink)
class SurfaceLinkAdmin(PersonAdmin):
    list_display = (
        "id",
        "who",
        "where",
        "name",
        "external_id",
        "status",
        "sharing",
        "approvals",
        "unreachable",
        "created_at",
    )
    list_filter = (SurfaceFilter, "status", "sharing")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        outside = ("where", "account", "external_id", "chat", "name", "language")
        times = ("created_at", "confirmed_at", "ended_at")
        return [
            (
                None,
                {"fields": ("uid", "who", "tenant", *outside, "status", "sharing", "approvals", "unreachable", *times)},
            )
        ]


@admin.register(LinkCode)
class LinkCodeAdmin(PersonAdmin):
    list_display = ("id", "who", "where", "sharing", "created_at", "expires_at", "used_at")
    list_filter = (SurfaceFilter,)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        return [(None, {"fields": ("uid", "who", "tenant", "where", "sharing", "created_at", "expires_at", "used_at")})]


@admin.register(DailyUse)
class DailyUseAdmin(PersonAdmin):
    """What people have used of their day, where the site limits it."""

    list_display = ("id", "who", "agent", "messages", "tokens", "dollars", "share", "resets_at")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        return [(None, {"fields": ("who", "tenant", "agent", "messages", "tokens", "dollars", "share", "resets_at")})]

    @admin.display(description=_("cost"))
    def dollars(self, row: DailyUse) -> str:
        return f"$ {number_format(Decimal(row.nanodollars).scaleb(-9), 6)}"

    @admin.display(description=_("used up"))
    def share(self, row: DailyUse) -> str:
        """Of what is allowed; a day that is over counts for nothing."""
        if row.resets_at <= timezone.now():
            return "-"
        return f"{number_format(100 * budget.used(row).share, 0)} %"


@admin.register(Preference)
class PreferenceAdmin(BigTableAdmin):
    """The one thing about a person that staff may set: how the assistant talks to them."""

    person = "user"
    list_display = ("id", "who", "tenant", "language", "time_zone")
    list_select_related = ("user",)
    narrowed_by = ("user__id__exact",)
    raw_id_fields = ("user",)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        own = self._is_own(request)
        return super().has_delete_permission(request, obj) if own else may(request, "delete", "conversation")
