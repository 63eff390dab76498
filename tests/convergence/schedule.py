"""A schedule is played: step by step, and compared at the end."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings
from django.db import transaction

from tests.convergence.device import Device, device
from tests.convergence.steps import Step
from tests.convergence.world import TEXTS, World
from tests.support.stage import Stage, played, settled
from tests.support.telling import digest, told


@dataclass
class Result:
    """What a schedule did."""

    events: int = 0
    frames: int = 0
    devices: list[Device] = field(default_factory=list)
    floor: int = 0
    digest: str = ""
    seen: Counter[str] = field(default_factory=Counter)  # what happened, and how often


class Difference(AssertionError):
    """Two screens do not show the same."""


def play(steps: list[Step], stage: Stage, user: Any, *, check: bool) -> Result:
    """Carry out a schedule and compare. Leaves nothing in the database. Raises Difference, or what went wrong."""
    stage.bells.clear()
    stage.clock, stage.user, stage.slow = 0.0, user, None
    settings.CROSSMEMORY["LOG_MAX_EVENTS"] = 10_000
    with transaction.atomic():
        try:
            return played(_Play(stage, user, check).go(steps))
        finally:
            transaction.set_rollback(True)


class _Play:
    def __init__(self, stage: Stage, user: Any, check: bool) -> None:
        self.stage = stage
        self.world = World(user)
        self.check = check
        self.devices: list[Device] = []
        self.wires: list[Any] = []
        self.sent = 0
        self.seen: Counter[str] = Counter()

    async def go(self, steps: list[Step]) -> Result:
        for number in range(4):
            self.devices.append(device(f"device {number}", self.world.conversation, number, self.check))
        for word, one, two in steps:
            place, _, name = word.partition(".")
            if place == "device":
                getattr(self, f"_{name}")(self.devices[one], two)
            elif place == "world":
                getattr(self.world, name)(two)
                self._announce(two)
            elif word == "tick":
                self.stage.tick()
            elif word == "slow":
                self.stage.slow = two % 5
            elif word == "answer":
                self.seen["the database was silent"] += self.stage.silent
                self.stage.answer()
            elif word == "bounds":
                settings.CROSSMEMORY["LOG_MAX_EVENTS"] = one
            await settled()
            self._heed()
        await self._quiet()
        self._compare("while runs are open")
        self.world.finish()
        await self._quiet()
        for each in self.devices[1::2]:
            self._connect(each, 0)
        self._connect_anew(self.devices[0], 0)
        await self._quiet()
        self._compare("at the end")
        assert not any(each.outbox for each in self.devices), "something was never acknowledged"
        for each in self.devices:
            assert len(set(each.effects)) == len(each.effects), f"{each.name} made a sound twice"
        self.world.check({key for each in self.devices for key in each.said})
        return await self._result()

    async def _quiet(self) -> None:
        """All is well again: every device is attached, every doorbell heard, everything sent."""
        self.stage.answer()
        for each in self.devices:
            if each.wire is None:
                self._connect(each, 0)
            self._open(each, 0)
        for _ in range(30):
            await settled()
            for bell in list(self.stage.bells):
                self.stage.ring(bell)
            await settled()
            for each in self.devices:
                if each.wire is None:
                    self._connect(each, 0)
            if all(each.online and not each.outbox for each in self.devices):
                break
        for bell in list(self.stage.bells):
            self.stage.ring(bell)
        await settled()
        self._heed()
        for wire in self.wires:
            if wire._task.done():
                wire._task.result()

    def _heed(self) -> None:
        """What a device complained about is what went wrong."""
        for each in self.devices:
            if each.wrong is not None:
                raise each.wrong

    def _compare(self, when: str) -> None:
        log = self.world.log_of()
        floor = self.world.floor
        for each in self.devices:
            if digest(each.state, floor) != digest(log, floor):
                raise Difference(f"{when}: {each.name} {_unlike(told(each.state, floor), told(log, floor))}")
            for item in each.state.items:
                if item["kind"] == "message" and item["status"] == "writing":
                    stored = self.world.written(item["id"])
                    assert item["text"] == stored, f"{when}: {each.name} has {_brief(item['text'])} of {_brief(stored)}"

    async def _result(self) -> Result:
        for each in self.devices:
            each.hang_up()
        for wire in self.wires:
            await wire.ended()
        state = self.world.log_of()
        floor = self.world.floor
        frames = sum(each.received for each in self.devices)
        seen = sum((each.seen for each in self.devices), self.world.seen + self.seen)
        return Result(state.seq, frames, self.devices, floor, digest(state, floor), seen)

    def _announce(self, number: int) -> None:
        """Something was committed: some doorbells ring at once, others late, twice or never."""
        if number % 2:
            return
        for place, bell in enumerate(sorted(self.stage.bells, key=id)):
            if (number >> place) & 2:
                self.stage.ring(bell)

    # Steps about a device.

    def _attach(self, each: Device, cursor: str | None) -> None:
        each.connect(cursor)
        self.wires.append(each.wire)

    def _connect(self, each: Device, number: int) -> None:
        self._attach(each, each.state.cursor)

    def _connect_anew(self, each: Device, number: int) -> None:
        self._attach(each, None)

    def _connect_slowly(self, each: Device, number: int) -> None:
        self._attach(each, None if number & 4 else each.state.cursor)
        self._stall(each, number)

    def _connect_elsewhere(self, each: Device, number: int) -> None:
        """With a cursor that lies: the server gives everything."""
        lies = (f"{each.state.epoch}:999999", f"other:{each.state.seq}", "nonsense", f"{each.state.epoch}:-1", ":")
        self._attach(each, lies[number % len(lies)])

    def _break(self, each: Device, number: int) -> None:
        """The connection ends, some frames from now."""
        if each.wire is not None:
            each.wire.life = number % 5 or 0
            if each.wire.broken:
                each.hang_up()

    def _half_open(self, each: Device, number: int) -> None:
        """The device is gone, and the server does not hear of it."""
        if each.wire is not None:
            each.wire.life = 0
            each._closed(1006)

    def _stall(self, each: Device, number: int) -> None:
        if each.wire is not None:
            each.wire.stall(number % 4)

    def _open(self, each: Device, number: int) -> None:
        if each.wire is not None:
            each.wire.stall(None)

    def _ring(self, each: Device, number: int) -> None:
        """Doorbells for nothing, late, or twice."""
        for bell in list(self.stage.bells):
            self.stage.ring(bell)

    def _say(self, each: Device, number: int) -> None:
        self.sent += 1
        each.say(f"{each.name}-{self.sent}", TEXTS[number % len(TEXTS)])

    def _repeat(self, each: Device, number: int) -> None:
        """What was sent is sent again, acknowledged or not."""
        mine = [key for key in each.said if key not in self.world.lost]
        if mine and each.online:
            key = mine[number % len(mine)]
            each.send(key, each.said[key])

    def _contradict(self, each: Device, number: int) -> None:
        mine = [key for key in each.said if key not in self.world.lost and key not in each.outbox]
        if mine and each.online:
            each.send(mine[number % len(mine)], "something else")

    def _decide(self, each: Device, number: int) -> None:
        """Press a button, sometimes with other arguments in mind."""
        if asked := _asked(each):
            tool = asked[-1 - number % min(2, len(asked))]
            _press(each, tool, "approved" if number % 3 else "denied", "" if number % 7 else "other")

    def _decide_together(self, each: Device, number: int) -> None:
        """All press a button at once, not all the same one; sometimes it is too late by then."""
        if number % 3 == 0:
            self.world.expire(number)
        for place, one in enumerate(self.devices):
            if asked := _asked(one):
                _press(one, asked[-1], ("approved", "denied")[(number + place) % 2])

    def _ask_stop(self, each: Device, number: int) -> None:
        if each.online and each.wire is not None:
            each.wire.send({"type": "run.stop"})


def _asked(each: Device) -> list[Any]:
    """The buttons that a device shows, pressed or not."""
    items = each.state.items if each.online else ()
    return [item for item in items if item["kind"] == "tool" and item["approval"]]


def _press(each: Device, tool: Any, decision: str, args_hash: str = "") -> None:
    told = {"tool_call": tool["id"], "args_hash": args_hash or tool["approval"]["args_hash"]}
    if each.wire is not None:
        each.wire.send({"type": "approval.decide", "decision": decision, **told})


def _unlike(mine: dict[str, Any], other: dict[str, Any]) -> str:
    """Where two tellings part."""
    for key, value in mine.items():
        if value != other[key]:
            if isinstance(value, list):
                only = [each for each in value if each not in other[key]]
                missing = [each for each in other[key] if each not in value]
                return f"{key}: has {_brief(only)}, lacks {_brief(missing)}" + ("" if only or missing else ", order")
            return f"{key}: {value!r}, the log says {other[key]!r}"
    return "nothing"


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 400 else text[:400] + "…"
