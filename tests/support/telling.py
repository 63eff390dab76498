"""What screens must agree on, as one text: of the Python client's fold here, of the page's in tests/js/fold.mjs."""

import hashlib
import json
from typing import Any

from crossmemory.attach.fold import State


def told(state: State, floor: int) -> dict[str, Any]:
    """All that a screen shows of the log; below the floor one may know more than another. No log holds a delta."""
    items = []
    for item in state.items:
        if item["seq"] >= floor:
            writing = item["kind"] == "message" and item["status"] == "writing"
            items.append({**item, "text": "", "length": 0} if writing else item)
    names = ("epoch", "seq", "title", "agent", "surface", "created_at", "run")
    return {**{name: getattr(state, name) for name in names}, "items": items}


def digest(state: State, floor: int) -> str:
    """SHA-256 of what is told, as JSON with sorted keys."""
    text = json.dumps(told(state, floor), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
