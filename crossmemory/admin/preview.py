"""What the assistant would see now: of any person, on any surface, as if they asked at this moment."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.admin import ModelAdmin
from django.contrib.auth import get_user_model
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from crossmemory import linking, memory
from crossmemory.admin import saw
from crossmemory.admin.permissions import may, may_read
from crossmemory.conf import primary_surface, settings, surface_label
from crossmemory.models import Conversation, Owner


def _surfaces() -> list[tuple[str, str]]:
    return [(alias, surface_label(alias)) for alias in settings.SURFACES]


def _agents() -> list[tuple[str, str]]:
    return [("", "-"), *((alias, alias) for alias in settings.AGENTS)]


class Asked(forms.Form):
    """Who, and where. A chat on the web is named by its number; without one, it would be a new chat."""

    user = forms.CharField(label=gettext_lazy("user"))
    surface = forms.ChoiceField(label=gettext_lazy("surface"), choices=_surfaces)
    agent = forms.ChoiceField(label=gettext_lazy("assistant"), choices=_agents, required=False)
    conversation = forms.IntegerField(label=gettext_lazy("conversation"), required=False, min_value=1)

    def clean_user(self) -> Any:
        """By name, as people sign in."""
        users, name = get_user_model()._default_manager, self.cleaned_data["user"]
        found = users.filter(**{get_user_model().USERNAME_FIELD: name}).first()
        if found is None:
            raise forms.ValidationError(_("There is no such user."))
        return found

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if {"user", "surface"} <= values.keys():
            agent = values.get("agent") or linking.agent_of(values["surface"])
            owner = Owner.of(values["user"], agent)
            wanted = values.get("conversation")
            if wanted is None:
                values["where"] = linking.would_be(owner, values["surface"])
            else:
                values["where"] = Conversation.objects.of(owner).filter(pk=wanted, surface=values["surface"]).first()
                if values["where"] is None:
                    self.add_error("conversation", _("This person has no such conversation there."))
        return values


def address(conversation: Conversation) -> str:
    """The query that asks about a conversation."""
    asked = {"user": conversation.user.get_username(), "surface": conversation.surface, "agent": conversation.agent}
    if conversation.surface == primary_surface():
        asked["conversation"] = str(conversation.pk)
    return urlencode(asked)


def view(admin: ModelAdmin[Any], request: HttpRequest) -> HttpResponse:
    """Reads only; for staff who may see conversations and read what people said."""
    if not may(request, "view", "conversation") or not may_read(request):
        raise PermissionDenied
    request.current_app = admin.admin_site.name  # what {% url %} leads to
    form = Asked(request.GET or None)
    context: dict[str, Any] = {**admin.admin_site.each_context(request), "opts": admin.opts, "form": form}
    context.update({"title": _("What the assistant would see now"), "may_read": True, "media": admin.media})
    if form.is_valid():
        conversation = form.cleaned_data["where"]
        given = memory.build_context(conversation)
        manifest = given.manifest.as_json()
        context["saw"] = saw.shown(manifest, conversation, admin.admin_site, words=True)
    return TemplateResponse(request, "admin/crossmemory/conversation/would_see.html", context)
