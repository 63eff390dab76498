"""Keeps the demo's processes running until it is told to stop, and stops them in order."""

import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from project.demo.processes import Child

LOOK_SECONDS = 0.1
PAUSE_SECONDS = 0.5  # before a process that ended is started again; doubled each time
LONGEST_PAUSE_SECONDS = 15.0
STEADY_SECONDS = 30.0  # a process that ran for this long had no trouble starting
GRACE_SECONDS = 12.0

Say = Callable[[str], None]


class NotReady(Exception):
    """A process did not become healthy."""


@dataclass(slots=True)
class Watched:
    child: Child
    pause: float = PAUSE_SECONDS
    waiting: float | None = None  # seconds until it is started again


class Supervisor:
    """Starts children one after the other; a child that ends by itself is started again, with back-off."""

    def __init__(self, say: Say) -> None:
        self.say = say
        self.stopping = threading.Event()
        self._watched: list[Watched] = []
        self._signals = 0

    def listen(self) -> None:
        """SIGINT and SIGTERM stop everything in order; the second one at once."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signalled)

    def _signalled(self, number: int, frame: Any) -> None:
        self._signals += 1
        self.stopping.set()
        if self._signals > 1:
            for watched in self._watched:
                watched.child.kill()

    def start(self, child: Child, ready: Callable[[], bool], patience: float) -> None:
        """Start a child and wait until it is ready. Raises NotReady; returns early when told to stop."""
        self._watched.append(Watched(child))
        child.start()
        while not ready():
            if child.exit_code is not None:
                raise NotReady(f"The {child.name} ended at its start ({_how(child.exit_code)}):\n{child.tail()}")
            if child.age > patience:
                raise NotReady(f"The {child.name} is not ready after {patience:.0f} s:\n{child.tail()}")
            if self.stopping.wait(LOOK_SECONDS):
                return

    def watch(self) -> None:
        """Until told to stop."""
        while not self.stopping.wait(LOOK_SECONDS):
            for watched in self._watched:
                self._look_at(watched)

    def stop(self) -> None:
        """The last one started is the first to stop: the bot before the server that it talks to."""
        for watched in reversed(self._watched):
            watched.child.stop(GRACE_SECONDS)

    def _look_at(self, watched: Watched) -> None:
        child = watched.child
        code = child.exit_code
        if code is None:
            if child.age > STEADY_SECONDS:
                watched.pause = PAUSE_SECONDS
            return
        if watched.waiting is None:
            watched.waiting = watched.pause
            watched.pause = min(watched.pause * 2, LONGEST_PAUSE_SECONDS)
            self.say(f"The {child.name} ended ({_how(code)}); it is started again in {watched.waiting:g} s.")
            if code > 0 and (written := child.tail()):
                self.say(written)
        watched.waiting -= LOOK_SECONDS
        if watched.waiting <= 0:
            watched.waiting = None
            child.start()
            self.say(f"The {child.name} runs again (pid {child.process.pid if child.process else '?'}).")


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"
