"""The frames of the attach protocol, as text. Pure: nothing here reads the database or a socket."""

import json
import re
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from crossmemory.conf import KIB
from crossmemory.events import wire

SUBPROTOCOL = "crossmemory.v1"
MIN_FRAME_BYTES = 16 * KIB
SEQ_BYTES = 27  # that a seq below 2^53 and a comma add to a stored body, at most

Mode = Literal["full", "resume", "current"]

_CURSOR = re.compile(r"([A-Za-z0-9_-]{1,64}):([0-9]{1,16})")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a client stands: `epoch:seq`."""

    epoch: str
    seq: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.seq}"


def parse_cursor(text: str | None) -> Cursor | None:
    """A client's cursor; None when there is none, or when it is not one (the client then gets everything)."""
    found = _CURSOR.fullmatch(text or "")
    return Cursor(found[1], int(found[2])) if found else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A log's state at one moment, read in one statement."""

    epoch: str
    head: int
    floor: int
    run: str  # idle, queued, running, awaiting_approval, failed
    pending: Sequence[dict[str, Any]] = ()
    partials: Sequence[dict[str, Any]] = ()  # {"message": id, "text": text so far}
    trimmed_by: str = "count"  # why events are missing: count or bytes
    mean_bytes: int = KIB  # of an event, to size pages

    @property
    def gap(self) -> dict[str, Any] | None:
        """The events between the anchor and the floor, which are not kept; None when nothing is missing."""
        return {"from": 2, "to": self.floor - 1, "reason": self.trimmed_by} if self.floor > 2 else None

    def honours(self, cursor: Cursor | None) -> bool:
        """Whether a client that stands there can simply go on."""
        return cursor is not None and cursor.epoch == self.epoch and self.floor - 1 <= cursor.seq <= self.head

    def mode(self, cursor: Cursor | None) -> Mode:
        if cursor is None or not self.honours(cursor):
            return "full"
        return "current" if cursor.seq == self.head else "resume"


@dataclass(slots=True)
class Replay:
    """Packs the events of one replay into numbered batches that fit into a frame."""

    conversation: str
    snapshot: Snapshot
    mode: Mode
    max_frame: int
    event_url: str  # with `{seq}`: where an event that fits into no frame can be read
    replay_id: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    batch: int = 0
    _events: list[str] = field(default_factory=list)
    _bytes: int = 0
    _from: int | None = None
    _to: int | None = None

    #: room for the envelope around the events
    _ENVELOPE = 1 * KIB

    def add(self, rows: Iterable[tuple[int, str, str, int]]) -> Iterator[str]:
        """Take events (seq, type, stored body, its bytes) in order; yields the frames that are full."""
        room = self.max_frame - self._ENVELOPE
        for seq, kind, body, size in rows:
            length = size + SEQ_BYTES
            if length > room:
                text = by_reference(seq, kind, self.event_url)
                length = len(text.encode()) + 1
            else:
                text = wire(seq, body)
            if self._events and self._bytes + length > room:
                yield self._frame(last=False)
            self._events.append(text)
            self._bytes += length
            self._from = seq if self._from is None else self._from
            self._to = seq

    @property
    def partials(self) -> list[dict[str, Any]]:
        """Text so far of messages being written, as the last batch tells it."""
        return fitting(self.snapshot.partials, self._room - len(dumps(self._pending).encode()))

    @property
    def _pending(self) -> list[dict[str, Any]]:
        return open_in(self.snapshot.pending, self._room // 2)

    @property
    def _room(self) -> int:
        """Bytes for what only the last batch tells."""
        return self.max_frame - 2 * self._ENVELOPE

    def finish(self) -> Iterator[str]:
        """The last frames: what is left of the events, with run, pending and partials."""
        tail = {
            "run": self.snapshot.run,
            "pending": self._pending,
            "partials": self.partials,
        }
        text = dumps(tail)
        if self._events and self._bytes + len(text.encode()) + self._ENVELOPE > self.max_frame:
            yield self._frame(last=False)
        yield self._frame(last=True, tail=text)

    def _frame(self, *, last: bool, tail: str = "") -> str:
        snapshot = self.snapshot
        head = dumps(
            {
                "type": "structured_replay",
                "v": 1,
                "conversation": self.conversation,
                "epoch": snapshot.epoch,
                "replay_id": self.replay_id,
                "mode": self.mode,
                "reset": self.mode == "full",
                "batch": self.batch,
                "last": last,
                "from": self._from,
                "to": self._to,
                "head": snapshot.head,
                "floor": snapshot.floor,
                "truncated": snapshot.gap is not None,
                "gap": snapshot.gap,
            }
        )
        rest = f",{tail[1:-1]}" if tail else ""
        frame = f'{head[:-1]},"events":[{",".join(self._events)}]{rest}}}'
        self.batch += 1
        self._events, self._bytes, self._from, self._to = [], 0, None, None
        return frame


def open_in(pending: Sequence[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """What is open, in `room` bytes: arguments that do not fit, and then steers, are told by their events alone."""
    result: list[dict[str, Any]] = []
    for each in pending:
        length = len(dumps(each).encode()) + 1
        if length > room and "arguments" in each:
            each = {name: value for name, value in each.items() if name != "arguments"}
            length = len(dumps(each).encode()) + 1
        if length > room:
            break
        room -= length
        result.append(each)
    return result


def fitting(partials: Sequence[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """Partials that fit into `room` bytes: one that does not is named without its text, to be asked for."""
    result: list[dict[str, Any]] = []
    for partial in partials:
        length = len(dumps(partial).encode())
        if length > room:
            partial = {"message": partial["message"], "text": ""}
            length = len(dumps(partial).encode())
        room -= length
        result.append(partial)
    return result


def by_reference(seq: int, kind: str, event_url: str) -> str:
    """An event that is larger than a frame: where to read it."""
    return dumps({"seq": seq, "type": kind, "ref": event_url.replace("{seq}", str(seq))})


def event(epoch: str, row: tuple[int, str, str, int], max_frame: int, event_url: str) -> str:
    """One live event (seq, type, stored body, its bytes)."""
    seq, kind, body, size = row
    fits = size + SEQ_BYTES + 128 <= max_frame
    text = wire(seq, body) if fits else by_reference(seq, kind, event_url)
    return f'{{"type":"event","epoch":{dumps(epoch)},"event":{text}}}'


def deltas(message: str, offset: int, text: str, max_frame: int) -> Iterator[str]:
    """Text appended to a message; `offset` in code points. As many frames as it needs."""
    step = max(1, (max_frame - KIB) // 6)  # a code point is at most six bytes, escaped
    for start in range(0, len(text), step):
        piece = text[start : start + step]
        yield dumps({"type": "delta", "message": message, "offset": offset + start, "text": piece})


def frame(kind: str, **values: Any) -> str:
    """Any small frame of the server: ping, ack, nack, error.

    In ASCII, because it may repeat what a client sent: half a surrogate pair can be JSON, and no UTF-8.
    """
    return json.dumps({"type": kind, **values}, separators=(",", ":"))


def dumps(value: Any) -> str:
    """JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
