"""A conversation whose server the test plays: what arrives at the page, and what the page sends."""

import json
from typing import Any

EPOCH = "e1"


class Played:
    """`Played(page, events)` answers every socket of the page with a replay of `events`, and then as it is told."""

    def __init__(self, page: Any, events: list[dict[str, Any]], **last: Any) -> None:
        self.page, self.events, self.last = page, events, last
        self.sent: list[dict[str, Any]] = []
        self.sockets: list[Any] = []
        page.route_web_socket("**/ws/crossmemory/**", self._attach)

    def _attach(self, socket: Any) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self.sent.append(json.loads(text)))
        frame = {
            "type": "structured_replay",
            "epoch": EPOCH,
            "replay_id": f"r{len(self.sockets)}",
            "mode": "full",
            "reset": True,
            "batch": 0,
            "last": True,
            "head": len(self.events),
            "floor": 1,
            "gap": None,
            "events": self.events,
            "run": "idle",
            "pending": [],
            "partials": [],
        }
        socket.send(json.dumps(frame | self.last))

    def frame(self, **frame: Any) -> None:
        self.sockets[-1].send(json.dumps(frame))

    def tell(self, type: str, data: dict[str, Any], **more: Any) -> None:
        """A live event."""
        self.events.append(event(len(self.events) + 1, type, data, **more))
        self.frame(type="event", epoch=EPOCH, event=self.events[-1])

    def drop(self) -> None:
        """The server goes away; the page comes back by itself."""
        self.sockets[-1].close(code=4010, reason="")

    def of(self, type: str) -> list[dict[str, Any]]:
        """What the page sent of one type."""
        return [frame for frame in self.sent if frame["type"] == type]


def event(seq: int, type: str, data: dict[str, Any], **more: Any) -> dict[str, Any]:
    """One entry of a log, as it travels."""
    at = f"2026-11-30T10:{seq // 60:02}:{seq % 60:02}.000000Z"
    actor = {"type": "agent", "id": "default"}
    common = {"seq": seq, "type": type, "v": 1, "at": at, "actor": actor, "surface": "web", "run": "r1"}
    return common | {"data": data} | more


def said(seq: int, role: str, text: str, html: str | None = None) -> dict[str, Any]:
    data = {"message": f"m{seq}", "role": role, "text": text, "html": html}
    actor = {"type": "user", "id": "1"} if role == "user" else {"type": "agent", "id": "default"}
    return event(seq, "message.completed", data, actor=actor)
