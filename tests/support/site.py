"""A real server process on a database of its own, and clients of it."""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.processes.running import free_port
from tests.support.frames import checked
from tests.support.postgres import Server

SETUP = """
from django.contrib.auth.models import User
from rest_framework.authtoken.models import Token
from crossmemory import log
from crossmemory.models import Owner
user = User.objects.create_user("ana")
print(Token.objects.create(user=user).key, log.create(Owner.of(user), "web", "Trip").uid)
"""


@dataclass
class Site:
    """A server process. Without a PostgreSQL it works on a SQLite file."""

    folder: str
    postgres: Server | None
    server: Literal["uvicorn", "daphne"] = "uvicorn"
    settings: str = "tests.faults.settings"
    port: int = field(default_factory=free_port)
    token: str = ""
    conversation: str = ""
    process: subprocess.Popen[bytes] | None = field(default=None)

    @property
    def environment(self) -> dict[str, str]:
        about = {"DJANGO_SETTINGS_MODULE": self.settings, "TEST_DIR": self.folder}
        kept = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        return {**kept, **about, **({"DATABASE_URL": self.postgres.url} if self.postgres else {})}

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}/ws/crossmemory/conversations/{self.conversation}/"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Token {self.token}"}

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "django", *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def start(self) -> None:
        quiet = ["--log-level", "warning"] if self.server == "uvicorn" else ["-v", "0"]
        place = ["--port" if self.server == "uvicorn" else "-p", str(self.port), *quiet]
        command = [sys.executable, "-m", self.server, "tests.faults.site:application", *place]
        self.process = subprocess.Popen(command, env=self.environment)

    def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    @asynccontextmanager
    async def attach(self) -> AsyncIterator[ClientConnection]:
        """A client whose replay is over; waits for the server to be there."""
        async with asyncio.timeout(30):
            while True:
                with suppress(OSError, ConnectionClosed):
                    async with connect(self.url, additional_headers=self.headers) as client:
                        while not checked(str(await client.recv())).get("last"):
                            pass
                        yield client
                        return
                assert self.process
                assert self.process.poll() is None, "the server ended"
                await asyncio.sleep(0.1)


@contextmanager
def serving(
    database: Literal["sqlite", "postgresql"],
    server: Literal["uvicorn", "daphne"] = "uvicorn",
    settings: str = "tests.faults.settings",
) -> Iterator[Site]:
    """A site with a user, her conversation and a server that runs, until the end of the block."""
    postgres = Server() if database == "postgresql" else None
    if postgres:
        postgres.start()
    with tempfile.TemporaryDirectory() as folder:
        made = Site(folder, postgres, server, settings)
        try:
            made.manage("migrate", "-v0")
            made.token, made.conversation = made.manage("shell", "-v0", "-c", SETUP).split()
            made.start()
            yield made
        finally:
            if made.process and made.process.poll() is None:
                made.kill()
            if postgres:
                if (postgres.data / "postmaster.pid").exists():
                    postgres.stop("immediate")
                postgres.remove()
