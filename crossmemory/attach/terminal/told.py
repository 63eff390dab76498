"""Items of a folded conversation as lines for a terminal. Pure; everything that others wrote is made harmless here."""

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from crossmemory.attach.state import Item, State
from crossmemory.attach.terminal.harmless import harmless, one_line
from crossmemory.conf import surface_label
from crossmemory.text import CHAT

Style = str  # "", "dim", "bold", "warn" or "bad": see screen.py
Line = tuple[Style, str]

_SHOWN_ARGUMENTS = 4000  # characters; what is longer is decided on the site


def title(state: State) -> Line:
    name = one_line(state.title) or str(CHAT["untitled"])
    return ("bold", f"{name} · {one_line(surface_label(state.surface))}" if state.surface else name)


def day(item: Item) -> str:
    """The day an item belongs to, as its separator says it; empty when it has no time."""
    at = _local(item["at"])
    return f"── {date_format(at, 'l')}, {date_format(at, 'DATE_FORMAT')} ──" if at else ""


def header(item: Item) -> Line:
    """Above a message: when and who, and how much the assistant knew from elsewhere."""
    words = [clock(item["at"]), _who(item)]
    if item["edited"]:
        words.append(f"({CHAT['edited']})")
    return ("bold", " ".join(filter(None, words)))


def saw(item: Item) -> list[Line]:
    parts = [
        str(CHAT["from_surface"]).format(count=int(each["count"]), label=one_line(str(each.get("label", ""))))
        for each in (item["saw"] or {}).get("elsewhere", ())
    ]
    return [("dim", str(CHAT["saw"]).format(what=", ".join(parts)))] if parts else []


def ending(item: Item) -> list[Line]:
    """What stands below a message that is not simply there."""
    if item["status"] == "redacted":
        return [("dim", str(CHAT["redacted"]))]
    if item["status"] == "interrupted":
        return [("warn", str(CHAT.get(f"interrupted_{item['reason']}", CHAT["interrupted"])))]
    if item["undelivered"]:
        label = one_line(surface_label(str(item["undelivered"]["surface"])))
        error = one_line(str(item["undelivered"]["error"]))
        return [("bad", str(CHAT["undelivered"]).format(label=label, error=error))]
    if item["degraded"]:
        return [("warn", str(CHAT["degraded"]))]
    return []


def notice(item: Item, state: State) -> list[Line]:
    """A line between messages; none for a run whose broken message says it already."""
    if item["type"].startswith("run.") and any(
        other["kind"] == "message" and other["status"] == "interrupted" and other["run"] == item["run"]
        for other in state.items
    ):
        return []
    words = str(CHAT.get("notice_" + item["type"].replace(".", "_"), item["type"]))
    detail = one_line(str(item["data"].get("detail") or ""))
    style = "bad" if item["type"] in ("run.failed", "run.abandoned") else "dim"
    return [(style, f"{clock(item['at'])} · {detail or words}")]


def tool(item: Item, number: int) -> list[Line]:
    """A tool call; one that needs permission as a card with the number by which it is answered."""
    name = one_line(item["title"] or item["name"])
    approval = item["approval"]
    if approval is None:
        words = {"completed": f"✓ {name}", "failed": f"✗ {name}: {one_line(str(item['error'] or ''))}"}
        return [("dim", words.get(item["status"], f"… {name}"))]
    if approval["decision"] is not None:
        return [decided(item, number)]
    lines: list[Line] = [("warn", _("[%(number)d] The assistant asks for permission: %(name)s") % _named(item, number))]
    lines += [("", f"    {line}") for line in _arguments(item["arguments"]).split("\n")]
    if until := clock(approval["expires_at"]):
        lines.append(("dim", "    " + _("until %(time)s") % {"time": until}))
    answers = {"number": number}
    lines.append(("warn", "    " + _("/approve %(number)d allows it, /deny %(number)d refuses it.") % answers))
    return lines


def decided(item: Item, number: int) -> Line:
    """How a permission was decided, and where."""
    approval = item["approval"]
    words = {
        "approved": _("[%(number)d] Allowed: %(name)s"),
        "denied": _("[%(number)d] Refused: %(name)s"),
        "expired": _("[%(number)d] Not decided in time: %(name)s"),
    }.get(approval["decision"], _("[%(number)d] No longer needed: %(name)s"))
    where = f" · {one_line(surface_label(str(approval['where'])))}" if approval["where"] else ""
    return ("dim", words % _named(item, number) + where)


def run_state(state: State) -> str:
    """What the assistant is at, in words; empty while it rests."""
    writing = any(item["kind"] == "message" and item["status"] == "writing" for item in state.items[-3:])
    if state.run == "running" and writing:
        return str(CHAT["writing"])
    return str(CHAT.get(f"run_{state.run}", ""))


def clock(at: str | None) -> str:
    moment = _local(at)
    return date_format(moment, "H:i") if moment else ""


def moment(at: datetime) -> str:
    """A day and a time, for lists."""
    local = timezone.localtime(at)
    return f"{date_format(local, 'SHORT_DATE_FORMAT')} {date_format(local, 'H:i')}"


def _local(at: str | None) -> datetime | None:
    if not at:
        return None
    try:
        return timezone.localtime(datetime.fromisoformat(at))
    except ValueError:
        return None


def _who(item: Item) -> str:
    kind = (item["actor"] or {}).get("type") or item["role"]
    names = {"user": "you", "agent": "assistant", "assistant": "assistant", "staff": "staff"}
    return str(CHAT[names[kind]]) if kind in names else str(CHAT["assistant"])


def _named(item: Item, number: int) -> Mapping[str, Any]:
    return {"number": number, "name": one_line(item["title"] or item["name"])}


def _arguments(arguments: Any) -> str:
    text = harmless(json.dumps(arguments, ensure_ascii=False, indent=2))
    return text if len(text) <= _SHOWN_ARGUMENTS else text[:_SHOWN_ARGUMENTS] + "…"
