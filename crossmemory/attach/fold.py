"""The fold of a conversation's log, for clients in Python: `state = reduce(state, event)`, for replay and live alike.

It does what the page's `reducer.js` does, and names things as that does, so that both can be compared (`canonical`).
Unknown event types change nothing but the cursor; an event at or below the cursor changes nothing at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from crossmemory.attach.changes import HANDLERS
from crossmemory.attach.state import SOME_RUN, Draft, Event, State, find


def reduce(state: State, event: Event) -> State:
    return fold(state, [event])


def fold(state: State, events: Iterable[Event]) -> State:
    """`reduce` over many events, ascending by seq, with one copy of the list."""
    draft = Draft(state, list(state.items))
    for event in events:
        if event["seq"] <= draft["seq"]:
            continue
        handler = HANDLERS.get(event["type"])
        if handler is not None:
            handler(draft, event, event.get("data") or {})
        draft["seq"] = event["seq"]
        draft["head"] = max(draft["head"], event["seq"])
    if not draft.values:
        return state
    return replace(state, items=tuple(draft.items), **draft.values)


def apply_batch(state: State, batch: Mapping[str, Any]) -> State:
    """Take one batch of the envelope; its number and `replay_id` were checked before."""
    base = State() if batch["batch"] == 0 and batch["reset"] else state
    next_ = fold(replace(base, epoch=batch["epoch"]), batch.get("events") or ())
    gap = batch["gap"] if batch.get("gap") and batch["mode"] == "full" else next_.gap
    next_ = replace(next_, floor=batch["floor"], head=max(batch["head"], next_.seq), gap=gap)
    if not batch["last"]:
        return next_
    next_ = replace(_with_run(next_, batch.get("run") or next_.run), pending=tuple(batch.get("pending") or ()))
    for partial in batch.get("partials") or ():
        next_ = apply_partial(next_, partial)
    return next_


def apply_delta(state: State, delta: Mapping[str, Any]) -> tuple[State, int | None]:
    """Add streamed text beyond what is held; and from which code point to ask for it when a piece was lost."""
    at = find(state.items, "message", delta["message"])
    if at < 0 or state.items[at]["status"] != "writing":
        return state, None
    held, offset = state.items[at]["text"], delta["offset"]
    if offset > len(held):
        return state, len(held)
    if offset + len(delta["text"]) <= len(held):
        return state, None
    return _with_text(state, at, held + delta["text"][len(held) - offset :]), None


def apply_partial(state: State, partial: Mapping[str, Any]) -> State:
    """Take the text so far, as the last batch brings it."""
    at = find(state.items, "message", partial["message"])
    if at < 0 or state.items[at]["status"] != "writing" or len(partial["text"]) <= len(state.items[at]["text"]):
        return state
    return _with_text(state, at, partial["text"])


def canonical(state: State) -> str:
    """A text by which two clients can compare what they folded; streamed text, which no log holds, is left out."""
    told = [
        {**item, "text": "", "length": 0} if item["kind"] == "message" and item["status"] == "writing" else dict(item)
        for item in state.items
    ]
    names = ("epoch", "seq", "title", "agent", "surface", "run")
    values = {**{name: getattr(state, name) for name in names}, "items": told}
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def _with_text(state: State, at: int, text: str) -> State:
    item = {**state.items[at], "text": text, "length": len(text)}
    return replace(state, items=(*state.items[:at], item, *state.items[at + 1 :]))


def _with_run(state: State, run: str) -> State:
    """The run state that the envelope tells, taken as it is."""
    busy = run in ("running", "awaiting_approval")
    return replace(
        state,
        run=run,
        active=(state.active or SOME_RUN) if busy else None,
        queued=state.queued if busy else (state.queued or SOME_RUN) if run == "queued" else None,
        waiting=run == "awaiting_approval",
        failed=run == "failed",
    )


__all__ = ["State", "apply_batch", "apply_delta", "apply_partial", "canonical", "fold", "reduce"]
