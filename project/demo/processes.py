"""One child process of the demo: started, watched, stopped, and known by a pid file that other processes may read."""

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from django.conf import settings

TAIL_BYTES = 3000


def pid_file(name: str) -> Path:
    """Where the pid of the child `name` stands while it runs."""
    return Path(settings.DEMO_DIR) / f"{name}.pid"


def command_of(pid: int) -> str:
    """The command line of a process; empty when there is none."""
    listed = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return listed.stdout.strip()


def running(name: str, mark: str) -> int | None:
    """The pid of the child `name`, if that process lives and `mark` stands in its command line (pids are reused)."""
    try:
        pid = int(pid_file(name).read_text())
    except (OSError, ValueError):
        return None
    return pid if pid > 1 and mark in command_of(pid) else None


def end(pid: int, grace: float) -> None:
    """Ask a process that is not our child to end; after `grace` seconds it is killed."""
    deadline = time.monotonic() + grace
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
        while time.monotonic() < deadline:
            time.sleep(0.1)
            os.kill(pid, 0)
        os.kill(pid, signal.SIGKILL)


@dataclass(slots=True)
class Child:
    """A process of the demo. Its output goes to a file, so that the terminal keeps the addresses in view."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    log: Path
    process: "subprocess.Popen[bytes] | None" = None
    started: float = 0.0
    logged_from: int = field(default=0)

    def start(self) -> None:
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as output:
            self.logged_from = output.tell()
            # A session of its own: Ctrl-C in the terminal reaches only the command, which stops both in order.
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                cwd=settings.BASE_DIR,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started = time.monotonic()
        written = pid_file(self.name).with_suffix(".new")
        written.write_text(str(self.process.pid))
        written.replace(pid_file(self.name))

    @property
    def exit_code(self) -> int | None:
        """How it ended, negative for a signal; None while it runs."""
        return None if self.process is None else self.process.poll()

    @property
    def age(self) -> float:
        """Seconds since it was started."""
        return time.monotonic() - self.started

    def stop(self, grace: float) -> None:
        """Ask it to end; after `grace` seconds it is killed."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(grace)
            except subprocess.TimeoutExpired:
                self.kill()
        pid_file(self.name).unlink(missing_ok=True)

    def kill(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def tail(self) -> str:
        """The end of what it wrote since it was last started."""
        try:
            with self.log.open("rb") as written:
                size = written.seek(0, os.SEEK_END)
                written.seek(max(self.logged_from, size - TAIL_BYTES))
                return written.read().decode(errors="replace").strip()
        except OSError:
            return ""
