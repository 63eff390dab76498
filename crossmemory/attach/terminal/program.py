"""`--json`: the protocol itself on stdout and stdin, a frame a line, for programs."""

import json
from typing import Any

from django.contrib.auth.models import AbstractBaseUser

from crossmemory.attach import frames
from crossmemory.attach.terminal import tty
from crossmemory.attach.terminal.session import Session
from crossmemory.models import Conversation

_LOOKS = ("ping", "pong", "partial.get")  # what somebody who only reads may send


class Program(Session):
    """Passes frames through. At the end of the input it detaches when all is answered; `read_only` follows on."""

    def __init__(self, user: AbstractBaseUser, conversation: Conversation, *, read_only: bool, fds: tuple[int, int]):
        super().__init__(user, conversation, read_only=read_only)
        self._input, self._output = fds[0], tty.Output(fds[1])
        self._rest = b""

    async def run(self) -> None:
        tty.read(self._input, self._came)
        await super().run()

    async def shown(self, frame: dict[str, Any], text: str) -> None:
        try:
            await self._output.write(text + "\n")
        except OSError:  # nobody reads any more
            self.detach()

    async def _came(self, data: bytes) -> None:
        await self.until_attached()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if not data:
            lines, self._rest = [self._rest], b""
        for line in lines:
            if text := line.decode("utf-8", "replace").strip():
                await self._frame(text)
        if not data and not self.read_only:
            await self.settle()
            self.detach()

    async def _frame(self, text: str) -> None:
        if self.read_only and _type(text) not in _LOOKS:
            refusal = frames.frame("error", code="read_only", detail="Attached to read only.", re=_type(text))
            return await self.shown({}, refusal)
        return await self._attachment.send(text)


def _type(text: str) -> str:
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    return str(frame.get("type", "")) if isinstance(frame, dict) else ""
