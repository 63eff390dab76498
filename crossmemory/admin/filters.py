"""List filters with few fixed choices: none of them asks the table which values it has."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from crossmemory.conf import settings, surface_label
from crossmemory.models import Message


class SurfaceFilter(admin.SimpleListFilter):
    """The surfaces that the site has set up."""

    title = _("surface")
    parameter_name = "surface"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return [(alias, surface_label(alias)) for alias in settings.SURFACES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(surface=self.value()) if self.value() else queryset


class SpeakerFilter(admin.SimpleListFilter):
    """Who spoke: only the two that speak often. A rare one would have the whole table read to be found."""

    title = _("role")
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, Any]]:
        return [(role.value, role.label) for role in (Message.Role.USER, Message.Role.ASSISTANT)]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(role=self.value()) if self.value() else queryset


class AttentionFilter(admin.SimpleListFilter):
    """What somebody should look at: the model admin's `attention`, values of its `attention_field`."""

    title = _("needs attention")
    parameter_name = "attention"

    def __init__(self, request: HttpRequest, params: Any, model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        self.wanted = {f"{model_admin.attention_field}__in": model_admin.attention}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        return [("1", _("Needs attention"))]  # type: ignore[list-item]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**self.wanted) if self.value() else queryset
