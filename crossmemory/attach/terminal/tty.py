"""Reading and writing the terminal, a pipe or a file, without ever holding up the event loop.

Threads that may block for ever are daemons: they keep no process alive.
"""

import asyncio
import contextlib
import os
import queue
import signal
import termios
import threading
from collections.abc import Awaitable, Callable
from typing import Self

_BRACKETED_PASTE, _PLAIN_PASTE = b"\x1b[?2004h", b"\x1b[?2004l"


class Output:
    """Writes in order; a reader that is slow is waited for."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self._waiting: queue.SimpleQueue[tuple[bytes, asyncio.AbstractEventLoop, asyncio.Future[None]]] = (
            queue.SimpleQueue()
        )
        threading.Thread(target=self._serve, name="crossmemory-output", daemon=True).start()

    async def write(self, text: str) -> None:
        """Returns when it was written. Raises OSError when nobody reads any more."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._waiting.put((text.encode("utf-8", "replace"), loop, future))
        await future

    def _serve(self) -> None:
        while True:
            data, loop, future = self._waiting.get()
            error: OSError | None = None
            try:
                while data:
                    data = data[os.write(self.fd, data) :]
            except OSError as trouble:
                error = trouble
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_settle, future, error)


def _settle(future: asyncio.Future[None], error: OSError | None) -> None:
    if not future.done():
        future.set_exception(error) if error else future.set_result(None)


def read(fd: int, handle: Callable[[bytes], Awaitable[None]]) -> None:
    """Hand what comes to `handle`, piece by piece, each when the one before is done; b"" at the end."""
    loop = asyncio.get_running_loop()

    async def taken(data: bytes) -> None:
        await handle(data)

    def serve() -> None:
        data = b"-"
        while data:
            try:
                data = os.read(fd, 1 << 16)
            except OSError:  # the terminal is gone
                data = b""
            handing = taken(data)
            try:
                handed = asyncio.run_coroutine_threadsafe(handing, loop)
            except RuntimeError:  # the loop is closed: nobody takes it any more
                handing.close()
                return
            try:
                handed.result()
            except BaseException:  # detached meanwhile
                return

    threading.Thread(target=serve, name="crossmemory-input", daemon=True).start()


class Raw:
    """`with Raw(keyboard, screen):` every key as it is pressed, none of them a signal; then all is as it was."""

    def __init__(self, keyboard: int, screen: int) -> None:
        self._keyboard, self._screen = keyboard, screen
        self._before = termios.tcgetattr(keyboard)

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def begin(self) -> None:
        wanted = termios.tcgetattr(self._keyboard)
        wanted[0] &= ~termios.IXON  # Ctrl-S must not freeze the screen
        wanted[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(self._keyboard, termios.TCSADRAIN, wanted)
        self._tell(_BRACKETED_PASTE)

    def end(self) -> None:
        self._tell(_PLAIN_PASTE)
        with contextlib.suppress(OSError, termios.error):  # of a terminal that is gone there is nothing to restore
            termios.tcsetattr(self._keyboard, termios.TCSANOW, self._before)

    def suspend(self) -> None:
        """Ctrl-Z: back to the shell; returns when the process goes on."""
        self.end()
        os.kill(os.getpid(), signal.SIGTSTP)
        self.begin()

    def _tell(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._screen, data)
