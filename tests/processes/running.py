"""The demo as people start it: `manage.py demo` as a process, with its server and its bot."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx

ROOT = Path(__file__).resolve().parents[2]
ANA, STAFF = 5001, 5002  # their ids on Telegram
#: what would lead the demo to other databases and bots than its own
FOREIGN = {
    "CROSSMEMORY_MODEL",
    "CROSSMEMORY_MODEL_BASE_URL",
    "DATABASE_URL",
    "DJANGO_SETTINGS_MODULE",
    "REDIS_URL",
    "SANDBOX",
    "TELEGRAM_API_URL",
    "TELEGRAM_BOT_TOKEN",
}

T = TypeVar("T")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def environment(directory: Path, port: int, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    return {**kept, "DEMO_DIR": str(directory), "PORT": str(port), "PYTHONUNBUFFERED": "1", **more}


def until(look: Callable[[], T | None], seconds: float = 30) -> T:
    """What `look` gives, once it gives something."""
    deadline = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.1)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


class Demo:
    """`with Demo(directory) as demo:` runs it until the end of the block."""

    def __init__(self, directory: Path, *arguments: str, port: int | None = None, **more: str) -> None:
        self.directory = directory
        self.port = port or free_port()
        self.arguments = arguments
        self.environment = environment(directory, self.port, **more)
        self.said = ""
        self.left: set[int] = set()

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.process = subprocess.Popen(
            [sys.executable, "manage.py", "demo", *self.arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        try:
            until(lambda: "crossmemory is running" in self.said or self.process.poll() is not None, 120)
            assert self.process.poll() is None, self.said
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            print(self.said, self.log("server"), self.log("bot"), sep="\n---\n")
        self._end()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.said += line

    def _end(self) -> None:
        self.left |= {pid for name in ("server", "bot") if (pid := self.pid(name))}
        if self.process.poll() is None:
            self.stop()
        for pid in self.left:  # only what this very demo started and did not end itself
            if alive(pid):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to stop; its exit code."""
        self.left |= {pid for name in ("server", "bot") if (pid := self.pid(name))}
        self.process.send_signal(number)
        try:
            code = self.process.wait(40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(5)
        return code

    def pid(self, name: str) -> int | None:
        try:
            return int((self.directory / f"{name}.pid").read_text())
        except (OSError, ValueError):
            return None

    def log(self, name: str) -> str:
        try:
            return (self.directory / f"{name}.log").read_text()
        except OSError:
            return ""

    def say(self, text: str, user_id: int = ANA, **more: Any) -> int:
        """Say something on the phone; the number of the message."""
        answer = httpx.post(f"{self.site}/sandbox/telegram/say", json={"user_id": user_id, "text": text, **more})
        answer.raise_for_status()
        return int(answer.json()["message_id"])

    def try_to_say(self, text: str) -> int | None:
        """The same while the site may be unable to keep it: then nothing was said."""
        answer = httpx.post(f"{self.site}/sandbox/telegram/say", json={"user_id": ANA, "text": text})
        return int(answer.json()["message_id"]) if answer.status_code == 200 else None

    def typing(self, chat_id: int = ANA) -> bool:
        answer = httpx.get(f"{self.site}/sandbox/telegram/chat", params={"chat_id": chat_id})
        return answer.status_code == 200 and bool(answer.json()["action"] or answer.json()["draft"])

    def press(self, message_id: int, data: str, user_id: int = ANA) -> None:
        """Press a button below a message of the bot."""
        pressed = {"user_id": user_id, "message_id": message_id, "data": data}
        httpx.post(f"{self.site}/sandbox/telegram/press", json=pressed).raise_for_status()

    def shown(self, after: int = 0, chat_id: int = ANA) -> list[dict[str, Any]]:
        """What the bot sent after a message, as it stands now."""
        query = {"chat_id": chat_id, "after": after}
        answer = httpx.get(f"{self.site}/sandbox/telegram/outbox", params=query)
        answer.raise_for_status()
        messages: list[dict[str, Any]] = answer.json()["messages"]
        return messages

    def outbox(self, after: int = 0, chat_id: int = ANA) -> list[str]:
        """The texts of that."""
        return [message["text"] for message in self.shown(after, chat_id)]

    def reply(self, after: int, seconds: float = 60, chat_id: int = ANA) -> str:
        return until(lambda: self.outbox(after, chat_id), seconds)[0]

    @contextlib.contextmanager
    def sign_in(self, name: str = "ana", password: str = "demo") -> Iterator[httpx.Client]:
        """A client that is signed in and sends the CSRF token."""
        with httpx.Client(base_url=self.site, follow_redirects=True, timeout=30) as client:
            page = client.get("/accounts/login/").text
            found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
            assert found
            values = {"username": name, "password": password, "csrfmiddlewaretoken": found[1], "next": "/demo/"}
            answer = client.post("/accounts/login/", data=values, headers={"Referer": self.site})
            assert answer.url.path == "/demo/", answer.url
            client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
            yield client
