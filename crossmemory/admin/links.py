"""Links from one admin page to another, where the other is registered and may be seen."""

from typing import Any

from django.contrib.admin import AdminSite
from django.contrib.auth import get_user_model
from django.db.models import Model
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.http import urlencode


def change_url(site: AdminSite, model: type[Model], key: Any) -> str | None:
    """The address of a row's page, or None where the model is not in this admin."""
    return _url(site, model, "change", key)


def list_url(site: AdminSite, model: type[Model], **lookups: Any) -> str | None:
    """The address of a list, narrowed by exact lookups."""
    url = _url(site, model, "changelist")
    return f"{url}?{urlencode(lookups)}" if url and lookups else url


def change_link(site: AdminSite, model: type[Model], key: Any, text: Any) -> str:
    """A link to a row's page, or the text alone; a dash where there is no row."""
    if key is None:
        return "-"
    url = change_url(site, model, key)
    return format_html('<a href="{}">{}</a>', url, text) if url else format_html("{}", text)


def person_link(site: AdminSite, user: Any) -> str:
    """A link to a person in the site's own user admin, if it has one."""
    return change_link(site, get_user_model(), user.pk, user.get_username())


def _url(site: AdminSite, model: type[Model], view: str, *args: Any) -> str | None:
    if not site.is_registered(model):
        return None
    name = f"admin:{model._meta.app_label}_{model._meta.model_name}_{view}"
    try:
        return reverse(name, args=args, current_app=site.name)
    except NoReverseMatch:
        return None
