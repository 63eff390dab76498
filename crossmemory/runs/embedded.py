"""The default runner: a thread with its own event loop in the server's or the bot's process."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import uuid
from typing import Any, ClassVar

from crossmemory import turns
from crossmemory.conf import settings
from crossmemory.expiry import EVERY_SECONDS, aexpire
from crossmemory.models import Run
from crossmemory.runs.base import Runner
from crossmemory.runs.engine import claim_waiting, execute
from crossmemory.runs.storing import DATABASE_GONE

logger = logging.getLogger(__name__)

_SWEEP_SECONDS = 1.0  # how often to look for runs that other processes left
_FIRST_EXPIRY_SECONDS = 60.0  # after the start, which has better things to do
_LEAVE_SECONDS = 2.0  # a queued run belongs to the process that queued it for this long


class EmbeddedRunner(Runner):
    """Carries out runs beside the server, RUN_CONCURRENCY at the same time, and those that a dead process left."""

    looks: ClassVar[bool] = True

    def __init__(self, alias: str, **options: Any) -> None:
        super().__init__(alias, **options)
        self.worker = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._pid = 0

    def start(self) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive() and self._pid == os.getpid():
                return
            ready = threading.Event()
            self._pid = os.getpid()
            self._thread = threading.Thread(target=self._serve, args=(ready,), name="crossmemory-runs", daemon=True)
            self._thread.start()
            ready.wait()

    def wake(self, after: float = 0) -> None:
        self.start()
        with contextlib.suppress(RuntimeError):  # the loop is closing
            if after:
                self._loop.call_soon_threadsafe(self._loop.call_later, after, self._woken.set)
            else:
                self._loop.call_soon_threadsafe(self._woken.set)

    def stop(self, grace: float) -> None:
        with self._lock:
            thread, self._thread = self._thread, None
        if thread is None or not thread.is_alive():
            return
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._leave, grace)
        thread.join(timeout=grace + 5)

    def _serve(self, ready: threading.Event) -> None:
        asyncio.run(self._main(ready))

    async def _main(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._woken = asyncio.Event()
        self._leaving: float | None = None
        self._tasks: dict[asyncio.Task[None], int] = {}  # by task: the key of its run
        ready.set()
        troubled = False
        expire_at = self._loop.time() + _FIRST_EXPIRY_SECONDS
        while self._leaving is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_SWEEP_SECONDS):
                    await self._woken.wait()
            woken = self._woken.is_set()
            self._woken.clear()
            free = settings.RUN_CONCURRENCY - len(self._tasks)
            if self._leaving is not None or free <= 0:
                continue
            try:
                await turns.aexpire()
                older_than = 0 if woken else _LEAVE_SECONDS
                for run in await claim_waiting(self.worker, free, older_than, list(self._tasks.values())):
                    self._begin(run)
                if self._loop.time() >= expire_at:
                    expire_at = self._loop.time() + EVERY_SECONDS
                    await aexpire()
                troubled = False
            except DATABASE_GONE as error:
                if not troubled:
                    logger.warning("Runs wait for the database: %r", error)
                troubled = True
            except Exception as error:
                if isinstance(error, RuntimeError) and "shutdown" in str(error):
                    return  # the interpreter is ending: its threads take no more work
                logger.exception("Looking for waiting runs failed.")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._leaving)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, run: Run) -> None:
        task = asyncio.create_task(execute(run))
        self._tasks[task] = run.pk
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._tasks[task]
        self._woken.set()  # a message that came meanwhile waits

    def _leave(self, grace: float) -> None:
        self._leaving = grace
        self._woken.set()
