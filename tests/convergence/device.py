"""A client that does its duties, and complains about a server that does not."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from crossmemory.attach.fold import State, apply_batch, apply_delta, fold
from crossmemory.conf import KIB, settings
from crossmemory.models import Event
from tests.support.frames import checked
from tests.support.wire import Wire


class Device:
    """One screen: it folds, sends and repeats. `tape` keeps what it was given, for other clients."""

    def __init__(self, name: str, conversation: Any, *, max_frame: int, check: Callable[[str], dict[str, Any]]) -> None:
        self.name = name
        self.conversation = conversation
        self.max_frame = max_frame
        self.check = check
        self.state = State()
        self.wire: Wire | None = None
        self.online = False  # the last batch of a replay is there
        self.outbox: dict[str, str] = {}  # what is not acknowledged, by client_id
        self.said: dict[str, str] = {}
        self.tape: list[Any] = []
        self.received = 0
        self.wrong: AssertionError | None = None
        self.effects: list[tuple[str, int]] = []  # events that may make a sound
        self.seen: Counter[str] = Counter()  # what happened to it

    def connect(self, cursor: str | None) -> None:
        """Attach with a cursor; what is held goes on being held."""
        self.hang_up()
        self.online, self.replay, self.batch = False, None, 0
        query = f"max_frame={self.max_frame}" + (f"&cursor={cursor}" if cursor else "")
        self.seen["attached with a cursor" if cursor else "attached without a cursor"] += 1
        self.tape.append({"cursor": cursor})
        self.wire = Wire(self.conversation, query, self._frame, self._closed)

    def hang_up(self) -> None:
        if self.wire is not None:
            self.wire.hang_up()
            self._closed(1000)

    def _closed(self, code: int) -> None:
        self.seen["cut while live" if self.online else "cut in a replay"] += 1
        assert code in (1000, 1006), f"{self.name} was closed with {code}"
        self.wire, self.online = None, False

    def say(self, client_id: str, text: str) -> None:
        """Send at once, or as soon as this device is online."""
        self.outbox[client_id] = self.said[client_id] = text
        if self.online:
            self.send(client_id, text)

    def send(self, client_id: str, text: str) -> None:
        if self.wire is not None:
            self.wire.send({"type": "message.send", "client_id": client_id, "text": text})

    def _frame(self, text: str) -> None:
        try:
            self._take(text)
        except AssertionError as error:  # the server sees a client that fails; the test must see why
            self.wrong = self.wrong or error
            raise

    def _take(self, text: str) -> None:
        assert len(text.encode()) <= self.max_frame, f"a frame of {len(text.encode())} bytes"
        frame = self.check(text)
        self.received += 1
        kind = frame["type"]
        if kind in ("structured_replay", "event", "delta"):
            frame = self._whole(frame)
            self.tape.append(frame)
        getattr(self, f"_{kind}")(frame)

    def _whole(self, frame: dict[str, Any]) -> dict[str, Any]:
        """Get what was too large for a frame."""
        if frame["type"] == "event":
            return {**frame, "event": self._fetched(frame["event"])}
        if frame["type"] == "structured_replay":
            return {**frame, "events": [self._fetched(event) for event in frame["events"]]}
        return frame

    def _fetched(self, event: dict[str, Any]) -> dict[str, Any]:
        self.seen[f"event {event['type']}"] += 1
        if event["type"] == "approval.decided" and "ref" not in event:
            self.seen[f"decided: {event['data']['decision']}"] += 1
        if "ref" not in event:
            return event
        self.seen["event too large for a frame"] += 1
        seq = event["seq"]
        assert event["ref"].endswith(f"/{seq}/")
        body = Event.objects.filter(conversation=self.conversation.pk, seq=seq).values_list("body", flat=True).first()
        # Trimmed since: a client attaches again. Here the test looks away; the server notices by itself.
        return {"seq": seq, **json.loads(body)} if body else {"seq": seq, "type": "gone", "run": None, "data": {}}

    def _structured_replay(self, batch: dict[str, Any]) -> None:
        if batch["replay_id"] != self.replay:
            self.seen[f"replay: {batch['mode']}"] += 1
            if self.replay is not None:
                self.seen["rebuilt while live" if self.online else "replay begun again"] += 1
            self.replay, self.batch, self.online = batch["replay_id"], 0, False
        assert batch["batch"] == self.batch, "a batch is missing"
        assert batch["truncated"] is (batch["gap"] is not None)
        self.batch += 1
        if batch["batch"] == 0 and not batch["reset"]:
            assert batch["epoch"] == self.state.epoch, "another history is resumed"
        before = 0 if batch["batch"] == 0 and batch["reset"] else self.state.seq
        for event in batch["events"]:
            lowest = batch["floor"] if before == 1 and batch["mode"] == "full" else before + 1
            assert event["seq"] == lowest, f"event {event['seq']} after {before}"
            before = event["seq"]
        self.state = apply_batch(self.state, batch)
        if batch["last"]:
            assert self.state.seq == batch["head"], "the replay ends before its head"
            self.seen["replay in batches"] += batch["batch"] > 0
            self.seen["replay with a gap"] += batch["truncated"]
            self.seen["replay with text so far"] += bool(batch["partials"])
            self.seen.update(f"replay with an open {each['type']}" for each in batch["pending"])
            self.online, self.head = True, batch["head"]
            for client_id, text in self.outbox.items():
                self.send(client_id, text)

    def _event(self, frame: dict[str, Any]) -> None:
        seq = frame["event"]["seq"]
        assert self.online, "a live event inside a replay"
        assert frame["epoch"] == self.state.epoch
        assert seq == self.state.seq + 1, f"event {seq} after {self.state.seq}"
        assert seq > self.head
        self.effects.append((frame["epoch"], seq))
        self.state = fold(self.state, [frame["event"]])

    def _delta(self, delta: dict[str, Any]) -> None:
        assert self.online, "text inside a replay"
        self.state, missing = apply_delta(self.state, delta)
        self.seen["streamed text"] += 1
        if missing is not None and self.wire is not None:
            self.wire.send({"type": "partial.get", "message": delta["message"], "from": missing})

    def _ping(self, ping: dict[str, Any]) -> None:
        self.seen["asked for a sign" if "n" in ping else "pinged"] += 1
        if self.wire is not None:
            self.wire.send({"type": "pong", **({"n": ping["n"]} if "n" in ping else {})})

    def _ack(self, ack: dict[str, Any]) -> None:
        self.seen["send repeated"] += ack.get("duplicate", False)
        self.seen["decision taken"] += "decision" in ack
        self.outbox.pop(ack.get("client_id", ""), None)

    def _nack(self, nack: dict[str, Any]) -> None:
        assert nack["code"] in ("conflict", "already_decided", "hash", "not_found"), nack
        self.seen[f"refused: {nack['code']}"] += 1
        if nack.get("client_id") in self.outbox:
            del self.outbox[nack["client_id"]]

    def _error(self, error: dict[str, Any]) -> None:
        raise AssertionError(f"{self.name} got {error}")


def unchecked(text: str) -> dict[str, Any]:
    """A frame as it is: most schedules leave the schema to the others."""
    frame: dict[str, Any] = json.loads(text)
    return frame


def device(name: str, conversation: Any, size: int, check: bool) -> Device:
    """A device that takes frames of 3 KiB, of 16 KiB, or of any size."""
    most = (3 * KIB, 16 * KIB, settings.MAX_FRAME_BYTES)[size % 3]
    return Device(name, conversation, max_frame=most, check=checked if check else unchecked)
