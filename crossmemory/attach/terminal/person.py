"""Somebody at a terminal, or a pipe that carries what somebody would type and read."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from crossmemory.attach.terminal import told, tty
from crossmemory.attach.terminal.editor import Editor
from crossmemory.attach.terminal.harmless import one_line
from crossmemory.attach.terminal.screen import Screen
from crossmemory.attach.terminal.session import Ended, Session
from crossmemory.conf import surface_label
from crossmemory.models import Conversation
from crossmemory.surfaces import surfaces
from crossmemory.text import CHAT

_DECIDE = re.compile(r"/(approve|deny)(?:\s+(\d{1,6}))?\s*")
_MOST_BELOW = 3  # messages under way that are drawn


class Person(Session):
    """Shows the conversation and sends what is typed. `live`: both ends are a terminal."""

    def __init__(
        self,
        user: AbstractBaseUser,
        conversation: Conversation,
        *,
        read_only: bool,
        fds: tuple[int, int],
        live: bool,
        color: bool,
    ) -> None:
        super().__init__(user, conversation, read_only=read_only)
        self._input, self._live = fds[0], live
        self._output = tty.Output(fds[1])
        self._screen = Screen(live=live, color=color)
        self._editor = Editor()
        self._drawing = asyncio.Lock()
        self._rest = b""
        self._read = 0
        self._refused = ""
        self._raw = tty.Raw(*fds) if live else None

    async def run(self) -> None:
        """Until detached. Raises Ended, also for a message from a pipe that was refused."""
        with self._keyboard():
            if self._live or not self.read_only:  # a pipe that only reads follows on, whatever its input does
                tty.read(self._input, self._keys if self._live else self._lines)
            try:
                await super().run()
            finally:
                with contextlib.suppress(OSError):
                    await self._output.write(self._screen.erased())
        if self._refused:
            raise Ended(self._refused)

    @contextlib.contextmanager
    def _keyboard(self) -> Iterator[None]:
        if self._raw is None:
            yield
            return
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._resized)
        loop.add_signal_handler(signal.SIGCONT, self._continued)
        self._resize()
        with self._raw:
            yield

    def _resized(self) -> None:
        self._resize()
        self._drawer = asyncio.ensure_future(self.draw())

    def _continued(self) -> None:
        """The process was stopped for a while: the shell has used the terminal meanwhile."""
        if self._raw is not None:
            self._raw.begin()
        self._resized()

    def _resize(self) -> None:
        self._screen.resize(shutil.get_terminal_size().columns)
        with contextlib.suppress(OSError):
            self._screen.resize(os.get_terminal_size(self._output.fd).columns)

    async def restarted(self) -> None:
        await self._write(self._screen.clear())

    async def shown(self, frame: dict[str, Any], text: str) -> None:
        if frame["type"] == "nack":
            self._told_no(frame)
        elif frame["type"] == "error":
            self._screen.say(("bad", one_line(str(frame.get("detail") or frame.get("code")))))
        if frame["type"] != "ping" and self.attached:
            first = not self._screen.begun
            self._screen.take(self.state)
            if first:
                self._welcome()
            await self.draw()
            await self._mark_read()

    async def draw(self) -> None:
        """Write what is new, and the changing part below it."""
        below: list[told.Line] = []
        for words in list(self.sending.values())[-_MOST_BELOW:]:
            below.append(("dim", f"{CHAT['sending']} {one_line(words)}"))
        if state := told.run_state(self.state):
            below.append(("dim", state))
        line, column = self._prompt()
        await self._write(lambda: self._screen.draw(below, line, column))

    def _prompt(self) -> tuple[str, int]:
        if self.read_only:
            return "", 0
        return self._editor.shown(self._screen.width, "^B " if self._editor.prefixed else "> ")

    async def _write(self, text: Any) -> None:
        async with self._drawing:
            try:
                await self._output.write(text() if callable(text) else text)
            except OSError:  # the terminal is gone, or nobody reads any more
                self.detach()

    def _welcome(self) -> None:
        """Once, below the replay: what can be done here."""
        if not self._live:
            return
        if self.read_only:
            self._screen.say(("dim", _("Reading only. Ctrl-B d detaches.")))
        else:
            if not _writable(self.conversation):
                label = one_line(surface_label(self.conversation.surface))
                self._screen.say(("dim", str(CHAT["read_only"]).format(label=label)))
            self._screen.say(("dim", _("Ctrl-B d detaches, /help says what else there is.")))

    async def _mark_read(self) -> None:
        if self._live and not self.read_only and self.state.head > self._read:
            self._read = self.state.head
            await self.send("read", seq=self._read)

    def _told_no(self, frame: dict[str, Any]) -> None:
        detail = one_line(str(frame.get("detail") or frame["code"]))
        if "text" not in frame:  # not a message: a decision
            return self._screen.say(("bad", detail))
        why = str(CHAT["not_sent"]).format(why=detail)
        self._screen.say(("bad", why))
        if not self._live:
            self._refused = why
        elif not self._editor.text:
            self._editor.text, self._editor.at = frame["text"], len(frame["text"])
        return None

    async def _keys(self, data: bytes) -> None:
        if not data:
            return self.detach()
        for action in self._editor.feed(data):
            if action.key == "detach":
                return self.detach()
            if action.key == "line" and not self.read_only:
                await self._entered(action.text)
            elif action.key == "suspend" and self._raw is not None:
                await self._write(self._screen.erased())
                self._raw.suspend()
            elif action.key == "redraw":
                await self._write(self._screen.clear())
                self._screen.take(self.state)
        return await self.draw()

    async def _lines(self, data: bytes) -> None:
        """Lines of a pipe: each is said when the one before is stored."""
        await self.until_attached()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data:
            lines, self._rest = [self._rest], b""
        for line in lines:
            text = line.decode("utf-8", "replace").rstrip("\r")
            if text.strip() and not self._refused:
                await self._entered(text)
                await self.draw()
        if not data:
            await self.settle()
        if not data or self._refused:
            self.detach()

    async def _entered(self, line: str) -> None:
        if not line.startswith("/") or line.startswith("//"):
            client_id = await self.say(line.removeprefix("/"))
            return None if self._live else await self.until_stored(client_id)
        command = line.split()[0]
        if found := _DECIDE.fullmatch(line):
            return await self._decide("approved" if found[1] == "approve" else "denied", int(found[2] or 0))
        if command == "/stop":
            return await self.send("run.stop")
        if command in ("/detach", "/quit"):
            return self.detach()
        if command != "/help":
            self._screen.say(("bad", _("There is no command %(name)s.") % {"name": one_line(command)}))
        return self._help()

    async def _decide(self, decision: str, number: int) -> None:
        calls = self.open_calls
        uid = self._screen.open(number) if number else next(iter(calls), None) if len(calls) == 1 else None
        if uid is None or uid not in calls:
            if calls:
                return self._screen.say(("bad", _("Say which one: its number stands in brackets.")))
            return self._screen.say(("bad", _("No permission is being asked for.")))
        return await self.decide(uid, decision)

    def _help(self) -> None:
        for words in (
            "/stop – " + _("stop the answer that is being written"),
            "/approve N, /deny N – " + _("answer the assistant that asks for permission"),
            "/detach – " + _("leave; Ctrl-B d does it too, and nothing is stopped by it"),
            "//… – " + _("say something that begins with a slash"),
        ):
            self._screen.say(("dim", words))


def _writable(conversation: Conversation) -> bool:
    try:
        return surfaces[conversation.surface].primary
    except Exception:  # a surface that is set up wrongly, or no longer
        return False
