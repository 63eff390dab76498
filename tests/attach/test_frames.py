"""Frames keep to their size, whatever is in them."""

import json
from typing import Any

from crossmemory.attach.frames import MIN_FRAME_BYTES, Replay, Snapshot
from tests.support.frames import checked

AT = "2026-11-30T10:00:00.123456Z"


def last_frame(**values: Any) -> dict[str, Any]:
    snapshot = Snapshot(epoch="e", head=9, floor=2, run="awaiting_approval", **values)
    replay = Replay("c", snapshot, "current", MIN_FRAME_BYTES, "/events/{seq}/")
    [text] = replay.finish()
    assert len(text.encode()) <= MIN_FRAME_BYTES
    return checked(text)


def approval(arguments: Any) -> dict[str, Any]:
    named = {"type": "approval", "tool_call": "t", "name": "bell", "title": None, "arguments": arguments}
    return {**named, "args_hash": "h", "expires_at": AT}


def test_small_things_that_are_open_are_told_whole() -> None:
    pending = [approval({"times": 3}), {"type": "steer", "message": "m"}]
    assert last_frame(pending=pending)["pending"] == pending


def test_arguments_that_do_not_fit_are_told_by_their_event_alone() -> None:
    large = approval({"text": "é" * 20_000})
    told = last_frame(pending=[large, approval(1)])["pending"]
    assert told == [{name: value for name, value in large.items() if name != "arguments"}, approval(1)]


def test_very_many_steers_and_a_long_text_stay_within_a_frame() -> None:
    steers = [{"type": "steer", "message": str(number)} for number in range(2_000)]
    frame = last_frame(pending=steers, partials=[{"message": "a", "text": "x" * 20_000}])
    assert frame["partials"] == [{"message": "a", "text": ""}]
    assert steers[: len(frame["pending"])] == frame["pending"]
    assert len(json.dumps(frame["pending"])) > 5_000
