"""A real server process with `bench.site`."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_COMMANDS = {
    "uvicorn": ["-m", "uvicorn", "bench.site:application", "--log-level", "warning", "--lifespan", "off", "--port"],
    "daphne": ["-m", "daphne", "bench.site:application", "--verbosity", "0", "--port"],
}
_START_SECONDS = 20


@contextmanager
def serving(server: str, environment: Mapping[str, str] | None = None) -> Iterator[int]:
    """A running server, `uvicorn` or `daphne`; its port on 127.0.0.1."""
    with running(server, environment) as (port, _):
        yield port


@contextmanager
def running(server: str, environment: Mapping[str, str] | None = None) -> Iterator[tuple[int, int]]:
    """A running server; its port, and its process id."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, *_COMMANDS[server], str(port)], env={**os.environ, **(environment or {})}
    )
    try:
        _wait(port, process)
        yield port, process.pid
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SystemExit(f"The server ended at once, with {process.returncode}.")
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"Nothing answers on port {port}.")
