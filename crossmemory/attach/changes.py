"""What each type of event does to the fold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from crossmemory.attach.state import SOME_RUN, Draft, Event, find, message, put, tool

Handler = Callable[[Draft, Event, Mapping[str, Any]], None]


def _created(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    draft["title"] = data.get("title") or ""
    draft["agent"] = data.get("agent") or ""
    draft["surface"] = data.get("surface") or event.get("surface") or ""
    draft["created_at"] = data.get("created_at") or event.get("at")


def _renamed(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    draft["title"] = data.get("title", draft["title"])


def _started(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    put(draft, message(event, data), {"status": "writing", "saw": data.get("saw")})


def _completed(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    changes: dict[str, Any] = {
        "status": "complete",
        "text": data.get("text") or "",
        "html": data.get("html"),
        "degraded": data.get("degraded") is True,
        "at": event.get("at"),
        "sent_at": data.get("sent_at"),
        "parts": data.get("parts"),
    }
    changes |= {name: data[name] for name in ("role", "saw") if data.get(name)}
    put(draft, message(event, data), changes)


def _interrupted(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    changes: dict[str, Any] = {"status": "interrupted", "html": data.get("html"), "reason": data.get("reason")}
    if isinstance(data.get("text"), str):
        changes["text"] = data["text"]
    put(draft, message(event, data), changes)


def _known(kind: str, changes: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Handler:
    """Change an item that is here; one below the floor is left to the message feed."""

    def handle(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
        blank = message(event, data) if kind == "message" else tool(event, data)
        if find(draft.items, kind, blank["id"]) >= 0:
            put(draft, blank, changes(data))

    return handle


def _note(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    item = {"kind": "notice", "key": f"notice-{event['seq']}", "seq": event["seq"], "type": event["type"]}
    draft.items.append({**item, "at": event.get("at"), "run": event.get("run"), "data": dict(data)})


def _name_run(draft: Draft) -> None:
    if draft["active"]:
        draft["run"] = "awaiting_approval" if draft["waiting"] else "running"
    elif draft["queued"]:
        draft["run"] = "queued"
    else:
        draft["run"] = "failed" if draft["failed"] else "idle"


def _run_queued(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    draft["queued"], draft["failed"] = event.get("run") or SOME_RUN, False
    _name_run(draft)


def _run_started(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    draft["active"] = event.get("run") or SOME_RUN
    if draft["queued"] in (draft["active"], SOME_RUN):
        draft["queued"] = None
    draft["failed"] = draft["waiting"] = False
    _name_run(draft)


def _run_ended(draft: Draft, event: Event, data: Mapping[str, Any], failed: bool = False) -> None:
    run = event.get("run")
    if draft["active"] in (run, SOME_RUN):
        draft["active"] = None
    elif draft["queued"] in (run, SOME_RUN):
        draft["queued"] = None
    draft["waiting"], draft["failed"] = False, failed
    _name_run(draft)


def _broken(reason: str) -> Handler:
    """A run that ended badly leaves no message "being written"."""

    def handle(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
        _run_ended(draft, event, data, failed=reason == "failed")
        for index, item in enumerate(draft.items):
            if item["kind"] == "message" and item["status"] == "writing" and item["run"] == event.get("run"):
                draft.items[index] = {**item, "status": "interrupted", "reason": reason}
        _note(draft, event, data)

    return handle


def _tool_called(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    changes = {"name": data.get("name") or "", "arguments": data.get("arguments"), "status": "called"}
    put(draft, tool(event, data), changes)


def _requested(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    changes = {"name": data.get("name") or "", "title": data.get("title"), "arguments": data.get("arguments")}
    approval = {"args_hash": data.get("args_hash") or "", "expires_at": data.get("expires_at")}
    approval |= {"decision": None, "by": None, "where": None, "at": None}
    put(draft, tool(event, data), {**changes, "approval": approval})
    draft["waiting"] = draft["active"] is not None
    _name_run(draft)


def _decided(draft: Draft, event: Event, data: Mapping[str, Any]) -> None:
    at = find(draft.items, "tool", str(data.get("tool_call")))
    if at >= 0 and draft.items[at]["approval"]:
        told = {"decision": data.get("decision") or "cancelled", "by": event.get("actor")}
        told |= {"where": data.get("where"), "at": event.get("at")}
        draft.items[at] = {**draft.items[at], "approval": {**draft.items[at]["approval"], **told}}
    run = event.get("run")
    draft["waiting"] = draft["active"] is not None and any(
        item["kind"] == "tool" and item["run"] == run and item["approval"] and item["approval"]["decision"] is None
        for item in draft.items
    )
    _name_run(draft)


def _other_words(data: Mapping[str, Any]) -> dict[str, Any]:
    changes = {"text": data.get("text") or "", "html": data.get("html"), "edited": True}
    return {**changes, "parts": data["parts"]} if isinstance(data.get("parts"), list) else changes


def _steer(state: str) -> Handler:
    return _known("message", lambda data: {"steer": state})


HANDLERS: dict[str, Handler] = {
    "conversation.created": _created,
    "conversation.renamed": _renamed,
    "message.started": _started,
    "message.completed": _completed,
    "message.interrupted": _interrupted,
    "message.redacted": _known(
        "message", lambda data: {"status": "redacted", "text": "", "html": None, "parts": None, "saw": None}
    ),
    "message.edited": _known("message", _other_words),
    "delivery.failed": _known(
        "message",
        lambda data: {"undelivered": {"surface": data.get("surface") or "", "error": data.get("error") or ""}},
    ),
    "memory.boundary": _note,
    "takeover.started": _note,
    "takeover.ended": _note,
    "steer.accepted": _steer("waiting"),
    "steer.consumed": _steer("consumed"),
    "steer.promoted": _steer("promoted"),
    "steer.expired": _steer("expired"),
    "run.queued": _run_queued,
    "run.started": _run_started,
    "run.completed": _run_ended,
    "run.failed": _broken("failed"),
    "run.stopped": _broken("stopped"),
    "run.abandoned": _broken("abandoned"),
    "tool.called": _tool_called,
    "tool.completed": _known("tool", lambda data: {"status": "completed", "error": None}),
    "tool.failed": _known("tool", lambda data: {"status": "failed", "error": data.get("error")}),
    "approval.requested": _requested,
    "approval.decided": _decided,
}
