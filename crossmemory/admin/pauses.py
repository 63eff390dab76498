"""Pausing: staff say what begins no replies for a while, and what people are told."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crossmemory import pausing
from crossmemory.admin.base import BigTableAdmin, Fieldsets
from crossmemory.conf import settings, surface_label
from crossmemory.models import Pause

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[Pause]
else:
    ModelForm = forms.ModelForm


class PauseForm(ModelForm):
    """The surfaces and assistants that the site has, and what is paused although it has gone from the settings."""

    surface = forms.ChoiceField(label=gettext_lazy("surface"), required=False)
    agent = forms.ChoiceField(label=gettext_lazy("assistant"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        surfaces = {alias: surface_label(alias) for alias in settings.SURFACES}
        agents = {alias: alias for alias in settings.AGENTS}
        for name, known, every in (("surface", surfaces, _("every surface")), ("agent", agents, _("every assistant"))):
            own = getattr(self.instance, name)
            choices = {"": every, **known, **({own: known.get(own, own)} if own else {})}
            self.fields[name].choices = list(choices.items())  # type: ignore[attr-defined]


@admin.register(Pause)
class PauseAdmin(BigTableAdmin):
    form = PauseForm
    list_display = ("about", "since", "waiting", "told")
    actions = ("resume",)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Fieldsets:
        return [(None, {"fields": ("surface", "agent", "notice")})]

    def get_actions(self, request: HttpRequest) -> Any:
        """Deleting a pause is resuming."""
        return {name: action for name, action in super().get_actions(request).items() if name != "delete_selected"}

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows: QuerySet[Any] = pausing.with_waiting(super().get_queryset(request))
        return rows

    def save_model(self, request: HttpRequest, obj: Pause, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not change:
            pausing.announce(obj)

    def delete_model(self, request: HttpRequest, obj: Pause) -> None:
        pausing.resume(Pause.objects.filter(pk=obj.pk))

    @admin.action(description=gettext_lazy("Resume"), permissions=["delete"])
    def resume(self, request: HttpRequest, rows: QuerySet[Pause]) -> None:
        """What waited is answered."""
        for row in rows:
            self.log_deletions(request, Pause.objects.filter(pk=row.pk))
        pausing.resume(rows)
        self.message_user(request, _("Resumed: what waited is answered now."))

    @admin.display(description=gettext_lazy("paused"))
    def about(self, row: Pause) -> str:
        return pausing.named(row)

    @admin.display(description=gettext_lazy("replies that wait"))
    def waiting(self, row: Any) -> int:
        count: int = row.waiting
        return count

    @admin.display(description=gettext_lazy("what people are told"))
    def told(self, row: Pause) -> str:
        return row.notice or pausing.Paused(row.since, "").words
