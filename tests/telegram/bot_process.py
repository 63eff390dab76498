"""`manage.py run_telegram_bot` as a process."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from django.db import connection

from tests.sandbox.live import LiveServer

ROOT = Path(__file__).resolve().parents[2]


class BotProcess:
    """`manage.py run_telegram_bot`, started and ended by a test."""

    def __init__(self, server: LiveServer, log: Path) -> None:
        self.log = log
        self.env = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.telegram.process_settings",
            "TEST_DATABASE": str(connection.settings_dict["NAME"]),
            "TELEGRAM_API_URL": server.base,
        }
        self.env.pop("PTB_TIMEDELTA", None)  # the command's own business
        self.process: subprocess.Popen[bytes] | None = None

    def another(self) -> "BotProcess":
        """A second process of the same bot."""
        other = BotProcess.__new__(BotProcess)
        other.log, other.env, other.process = self.log, self.env, None
        return other

    def start(self, *arguments: str, **env: str) -> None:
        command = [sys.executable, "manage.py", "run_telegram_bot", *arguments]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, env={**self.env, **env}, stdout=log, stderr=log)

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, text=True, timeout=60)

    def signal(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    async def ended(self, seconds: float = 20) -> int:
        assert self.process is not None
        return await asyncio.to_thread(self.process.wait, seconds)

    async def kill(self) -> None:
        self.signal(signal.SIGKILL)
        await self.ended()

    def words(self) -> str:
        return self.log.read_text() if self.log.exists() else ""
