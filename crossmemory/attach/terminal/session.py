"""One attach from this process: the client's duties of the protocol, whatever shows it."""

import asyncio
import contextlib
import json
import random
import signal
import uuid
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from crossmemory import db, runs, turns
from crossmemory.attach import fold, frames, reader
from crossmemory.attach.consumer import NOT_SIGNED_IN
from crossmemory.attach.follower import GONE
from crossmemory.attach.terminal.local import Attachment
from crossmemory.conf import KIB
from crossmemory.events import wire
from crossmemory.exceptions import CrossmemoryError
from crossmemory.models import Conversation

_FINAL = 4500  # close codes from here on: trying again is of no use
_AGAIN_SECONDS = (0.5, 10.0)  # before attaching again: at first, and at most
_LOOK_SECONDS = 0.2
_GRACE_SECONDS = 5.0  # of runs that this process took over from others
_CAUGHT_UP = 2**53 - 1  # the number of a ping of our own: its answer comes when all before it was carried out


class Ended(CrossmemoryError):
    """The conversation can no longer be followed."""


class Session:
    """Attaches, follows, sends. What shows the frames is a subclass: `shown`, `restarted`."""

    def __init__(self, user: AbstractBaseUser, conversation: Conversation, *, read_only: bool) -> None:
        self.user, self.conversation, self.read_only = user, conversation, read_only
        self.state = fold.State()
        self.attached = False  # the replay is over
        self.sending: dict[str, str] = {}  # client_id: text that is not in the log yet
        self._acked = 0
        self._decided: set[str] = set()  # tool calls that were decided here
        self._armed: set[str] = set()  # tool calls about which the server waits for a decision
        self._batches = ("", 0)  # replay_id and number of the next batch
        self._older: set[str] = set()  # replay_ids that another one has followed
        self._attachment = Attachment(user, conversation, self._deliver)
        self._detached = asyncio.Event()
        self._answered = asyncio.Condition()
        self._settling = self._caught_up = False

    async def shown(self, frame: dict[str, Any], text: str) -> None:
        """Show a frame of the server; the state has taken it in."""
        raise NotImplementedError

    async def restarted(self) -> None:
        """The state begins anew."""

    async def run(self) -> None:
        """Until detached. Raises Ended."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.detach)
        wait = _AGAIN_SECONDS[0]
        while not self._detached.is_set():
            self._batches = ("", 0)
            self._older.clear()
            code = await self._attachment.run(self.state.cursor)
            wait = _AGAIN_SECONDS[0] if self.attached else min(wait * 2, _AGAIN_SECONDS[1])
            self.attached = False
            if code >= _FINAL:
                raise Ended(_why(code))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait * random.uniform(0.5, 1.0)):
                    await self._detached.wait()

    def detach(self) -> None:
        self._detached.set()
        self._attachment.detach()

    async def say(self, text: str) -> str:
        """Send what was typed; returns its client_id, which is kept until the log has it."""
        client_id = str(uuid.uuid4())
        self.sending[client_id] = text
        await self._send_message(client_id)
        return client_id

    async def send(self, kind: str, **values: Any) -> None:
        await self._attachment.send(frames.frame(kind, **values))

    @property
    def open_calls(self) -> dict[str, str]:
        """Tool calls that can be decided now, and the hash of their arguments.

        The server says which: what is only replayed may long be decided.
        """
        if not self.attached:
            return {}
        calls = (item for item in self.state.items if item["kind"] == "tool" and item["id"] in self._armed)
        return {call["id"]: call["approval"]["args_hash"] for call in calls if call["approval"]}

    async def decide(self, call: str, decision: str) -> None:
        """Answer the assistant that asks for permission; `call` is one of `open_calls`."""
        await self.send("approval.decide", tool_call=call, decision=decision, args_hash=self.open_calls[call])

    async def settle(self) -> None:
        """Wait until all that was sent is carried out and answered: there will be nothing more to see."""
        self._settling = True
        if self.attached:
            await self.send("ping", n=_CAUGHT_UP)
        async with self._answered:
            await self._answered.wait_for(lambda: self._caught_up and not self.sending and self._at_rest)

    async def until_attached(self) -> None:
        async with self._answered:
            await self._answered.wait_for(lambda: self.attached)

    async def until_stored(self, client_id: str) -> None:
        """Wait until a message of ours is in the log, or refused."""
        async with self._answered:
            await self._answered.wait_for(lambda: client_id not in self.sending)

    @property
    def _at_rest(self) -> bool:
        if self.state.seq < self._acked or self.state.run in ("queued", "running"):
            return False
        calls = (item for item in self.state.items if item["kind"] == "tool" and item["id"] in self._decided)
        return all(call["approval"] and call["approval"]["decision"] for call in calls)

    async def _send_message(self, client_id: str) -> None:
        if self.attached:  # else it goes out after the replay
            await self.send("message.send", client_id=client_id, text=self.sending[client_id])

    async def _deliver(self, text: str) -> None:
        frame = json.loads(text)
        if frame["type"] == "pong" and frame.get("n") == _CAUGHT_UP:
            self._caught_up = True
        elif await self._taken(frame):
            await self.shown(frame, text)
        async with self._answered:
            self._answered.notify_all()

    async def _taken(self, frame: dict[str, Any]) -> bool:
        """Take a frame into the state; False for one that must not be shown."""
        match frame["type"]:
            case "structured_replay":
                return await self._batch(frame)
            case "event":
                event = await self._whole(frame["event"])
                self.state = fold.reduce(self.state, event)
                self._arm(event)
                self.sending.pop(event.get("client_id") or "", None)
            case "delta":
                self.state, missing = fold.apply_delta(self.state, frame)
                if missing is not None:
                    await self.send("partial.get", message=frame["message"], **{"from": missing})
            case "ack" if "seq" in frame:
                self._acked = max(self._acked, frame["seq"])
                if frame["seq"] <= self.state.seq:
                    self.sending.pop(frame["client_id"], None)
            case "ack" if "tool_call" in frame:
                self._decided.add(frame["tool_call"])
            case "nack" if frame["code"] == "already_decided":
                self._armed.discard(frame["tool_call"])
            case "nack" if frame.get("client_id") in self.sending and not frame["retryable"]:
                frame["text"] = self.sending.pop(frame["client_id"])
            case "nack" if frame.get("client_id") in self.sending:
                asyncio.get_running_loop().call_later(
                    _AGAIN_SECONDS[0], asyncio.ensure_future, self._send_message(frame["client_id"])
                )
                return False
        return True

    async def _batch(self, batch: dict[str, Any]) -> bool:
        replay_id, number = self._batches
        if batch["replay_id"] != replay_id:
            if batch["replay_id"] in self._older:
                return False
            self._older.add(replay_id)
            number = 0  # a replay that begins anew
        if batch["batch"] != number:
            return False
        self._batches = (batch["replay_id"], number + 1)
        if batch["batch"] == 0 and batch["reset"]:
            self.attached = False
            await self.restarted()
        events = [await self._whole(event) for event in batch["events"]]
        self.state = fold.apply_batch(self.state, {**batch, "events": events})
        for event in events:
            self.sending.pop(event.get("client_id") or "", None)
        if batch["last"]:
            self._armed = {open_["tool_call"] for open_ in batch["pending"] if open_["type"] == "approval"}
        if batch["last"] and not self.attached:
            self.attached = True
            for client_id in list(self.sending):
                await self._send_message(client_id)
            if self._settling:
                await self.send("ping", n=_CAUGHT_UP)
        return True

    def _arm(self, event: dict[str, Any]) -> None:
        """What a live event asks for can be decided, until it is."""
        if event["type"] == "approval.requested":
            self._armed.add(event["data"]["tool_call"])
        elif event["type"] == "approval.decided":
            self._armed.discard(event["data"]["tool_call"])

    async def _whole(self, event: dict[str, Any]) -> dict[str, Any]:
        """An event; one that fits into no frame is read where it is."""
        if "ref" not in event:
            return event
        rows = await db.run(reader.page, self.conversation.pk, event["seq"] - 1, event["seq"], KIB)
        return dict(json.loads(wire(rows[0][0], rows[0][2]))) if rows else event


async def finish(conversation: Conversation) -> None:
    """Let an answer that this process writes come to its end; Ctrl-C breaks it off."""
    broken = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, broken.set)
    while not broken.is_set() and await db.run(_writes_here, conversation.pk):
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_LOOK_SECONDS):
                await broken.wait()
    await asyncio.to_thread(runs.runner().stop, 0 if broken.is_set() else _GRACE_SECONDS)


def _writes_here(conversation_id: int) -> bool:
    """Whether a run of this conversation waits for this process's runner, or is carried out by it."""
    worker = getattr(runs.runner(), "worker", None)  # the embedded runner's name; other runners run elsewhere
    if worker is None:
        return False
    active = turns.active_worker(conversation_id)
    if active is not None:
        return active[1] == str(worker)
    snapshot = reader.snapshot(conversation_id)
    return snapshot is not None and snapshot.run == "queued"


def _why(code: int) -> str:
    if code == GONE:
        return _("This conversation was deleted.")
    if code == NOT_SIGNED_IN:
        return _("This account is not active any more.")
    return _("This conversation cannot be followed any more (%(code)d).") % {"code": code}
