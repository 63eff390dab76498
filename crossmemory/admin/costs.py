"""What a reply cost and what it did on the way, for its page."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib.admin import AdminSite
from django.utils.formats import number_format
from django.utils.translation import gettext as _

from crossmemory.admin import links
from crossmemory.models import Run, ToolCall


@dataclass(frozen=True, slots=True)
class Figure:
    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Used:
    """A tool that a reply used or asked to use."""

    name: str
    status: str
    at: datetime
    url: str | None


@dataclass(frozen=True, slots=True)
class Costs:
    """Ready to be shown. `steps` are the requests to the model, as the agent described them."""

    figures: list[Figure]
    steps: list[Mapping[str, Any]]
    tools: list[Used]
    notes: list[str]


def read(run: Run, site: AdminSite) -> Costs:
    """One query, for the tools. What an agent does not tell is not shown."""
    usage = run.usage if isinstance(run.usage, dict) else {}
    manifest = run.manifest if isinstance(run.manifest, dict) else {}
    calls = ToolCall.objects.filter(run=run.pk).only("name", "status", "created_at").order_by("pk")
    return Costs(
        figures=[Figure(label, value) for label, value in _figures(usage)],
        steps=[step for step in usage.get("steps") or () if isinstance(step, dict)],
        tools=[
            Used(call.name, call.get_status_display(), call.created_at, links.change_url(site, ToolCall, call.pk))
            for call in calls
        ],
        notes=[_said(note) for note in manifest.get("notes") or () if isinstance(note, dict)],
    )


def cache_share(usage: Mapping[str, Any]) -> float | None:
    """The part of what went in that the provider had in its cache; None where that is not known."""
    given, cached = usage.get("input_tokens"), usage.get("cache_read_tokens")
    return cached / given if isinstance(given, int) and isinstance(cached, int) and given else None


def _figures(usage: Mapping[str, Any]) -> list[tuple[str, str]]:
    share, seconds, cost = cache_share(usage), usage.get("first_text_seconds"), _dollars(usage.get("cost"))
    known = [
        (_("model"), usage.get("model")),
        (_("requests to the model"), usage.get("requests")),
        (_("tokens in"), usage.get("input_tokens")),
        (_("of them from the cache"), None if share is None else f"{number_format(100 * share, 0)} %"),
        (_("tokens out"), usage.get("output_tokens")),
        (_("cost"), None if cost is None else f"$ {number_format(cost, 6)}"),
        (_("first text after"), None if seconds is None else _("%s s") % number_format(seconds, 2)),
    ]
    return [
        (label, number_format(value, force_grouping=True) if isinstance(value, int) else str(value))
        for label, value in known
        if value is not None
    ]


def _dollars(cost: Any) -> Decimal | None:
    try:
        return None if cost is None else Decimal(cost)
    except (InvalidOperation, TypeError, ValueError):
        return None


def _said(note: Mapping[str, Any]) -> str:
    """A note of the agent, in words; one that is not known, as it is."""
    match note.get("code"):
        case "waited":
            return _("Waited %(seconds)s s before trying again: %(for)s.") % {
                "seconds": note.get("seconds", "?"),
                "for": note.get("for", "?"),
            }
        case "shrunk":
            return _("It was more than the model takes in: the older half was left out.")
        case "history_refused":
            return _("The provider refused what came before: only the question was asked.")
        case "pictures_refused":
            return _("The provider refused the pictures: they are not sent again.")
    return ", ".join(f"{name}: {value}" for name, value in note.items())
