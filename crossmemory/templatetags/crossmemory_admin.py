"""`{% crossmemory_overview %}`: the start block of the app's page in any admin."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import template
from django.db.models import QuerySet
from django.template import Context
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from crossmemory import pausing
from crossmemory.conf import surface_label
from crossmemory.models import Delivery, InboundUpdate, Pause, Poller, Run

register = template.Library()

_COUNTED = 100  # rows that are counted at most
_RECENT = 1_000  # newest replies that are looked at: the states of older ones have no index


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with what it counts, where to see the rows, and whether it asks for somebody."""

    count: str
    label: str
    url: str
    attention: bool


@register.inclusion_tag("admin/crossmemory/overview.html", takes_context=True)
def crossmemory_overview(context: Context) -> dict[str, Any]:
    """What waits and what needs attention, as far as this member of staff may see it. A few bounded queries."""
    request = context["request"]
    site = getattr(request, "current_app", None) or "admin"

    def may_view(model: str) -> bool:
        allowed: bool = request.user.has_perm(f"crossmemory.view_{model}")
        return allowed

    figures = []
    if may_view("run"):
        open_runs = Run.objects.filter(status__in=[Run.Status.QUEUED, Run.Status.RUNNING])
        figures.append(_figure(open_runs, _("replies under way"), _url(site, "run"), attention=False))
        bad = (Run.Status.FAILED, Run.Status.ABANDONED)
        newest = Run.objects.order_by("-pk").values("status", "created_at")[:_RECENT]
        since = timezone.now() - timedelta(hours=24)
        failed = sum(row["status"] in bad and row["created_at"] >= since for row in newest)
        figures.append(_number(failed, _("failed replies in the last 24 hours"), _url(site, "run", "attention=1")))
    if may_view("delivery"):
        failed_rows = Delivery.objects.filter(status__in=[Delivery.Status.FAILED, Delivery.Status.UNKNOWN])
        figures.append(_figure(failed_rows, _("failed deliveries"), _url(site, "delivery", "attention=1")))
        waiting = Delivery.objects.filter(status__in=[Delivery.Status.PENDING, Delivery.Status.SENDING])
        url = _url(site, "delivery", "status__exact=pending")
        figures.append(_figure(waiting, _("deliveries that wait"), url, attention=False))
    if may_view("inboundupdate"):
        dead = InboundUpdate.objects.filter(status=InboundUpdate.Status.DEAD)
        url = _url(site, "inboundupdate", "attention=1")
        figures.append(_figure(dead, _("incoming updates that need attention"), url))
    return {
        "figures": figures,
        "pollers": _pollers(site) if may_view("poller") else [],
        "pauses": _pauses(site) if may_view("pause") else [],
    }


def _pauses(site: str) -> list[dict[str, Any]]:
    rows = Pause.objects.order_by("pk")[:20]
    return [{"label": pausing.named(row), "since": row.since, "url": _url(site, "pause")} for row in rows]


def _pollers(site: str) -> list[dict[str, Any]]:
    rows = Poller.objects.order_by("surface", "account")[:20]
    fine = (Poller.State.OK, Poller.State.WAITING)
    return [
        {
            "poller": row,
            "label": surface_label(row.surface),
            "url": _url(site, "poller", view="change", key=row.pk),
            "attention": row.current not in fine,
        }
        for row in rows
    ]


def _figure(rows: QuerySet[Any], label: str, url: str, *, attention: bool = True) -> Figure:
    return _number(rows.order_by()[: _COUNTED + 1].count(), label, url, attention=attention)


def _number(count: int, label: str, url: str, *, attention: bool = True) -> Figure:
    shown = f"{_COUNTED}+" if count > _COUNTED else str(count)
    return Figure(shown, label, url, attention and count > 0)


def _url(site: str, model: str, query: str = "", *, view: str = "changelist", key: Any = None) -> str:
    """The address in the admin site that is being looked at; empty where it leaves the model out."""
    args = [] if key is None else [key]
    try:
        url = reverse(f"admin:crossmemory_{model}_{view}", args=args, current_app=site)
    except NoReverseMatch:
        return ""
    return f"{url}?{query}" if query else url
