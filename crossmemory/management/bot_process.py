"""The process of one bot: what runs in it, in which order it ends, and who ends it when it hangs."""

import asyncio
import logging
import os
import signal
import socket
import threading
import time
import uuid

from django.core.management.base import CommandError

from crossmemory import db, intake, runs
from crossmemory.dispatch import Sender
from crossmemory.intake.worker import InboxWorker
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.holding import Receiving
from crossmemory.surfaces.telegram.polling import Polling
from crossmemory.surfaces.telegram.previews import Previews
from crossmemory.surfaces.telegram.webhook import Webhook

logger = logging.getLogger("crossmemory.telegram")

SILENT = 3  # exit code: Telegram, or this process itself, was silent for too long: a supervisor restarts it

_SILENCE_SECONDS = 600.0  # without an answer from Telegram, after there was one
_STUCK_SECONDS = 120.0  # without a sign of life of the loop itself


class Process:
    """Everything that runs in the bot's process."""

    def __init__(
        self,
        surface: TelegramSurface,
        *,
        with_runner: bool,
        grace: float,
        webhook: str = "",
        delete_webhook: bool = False,
    ) -> None:
        self.surface, self.with_runner, self.grace = surface, with_runner, grace
        self.webhook, self.delete_webhook = webhook, delete_webhook
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"

    async def run(self) -> None:
        """Until SIGTERM or SIGINT; then in order: take nothing more, finish answers, send them, end."""
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled, number, stopped)
        inbox_worker = InboxWorker(self.surface.alias, self.surface.account)
        sender = Sender(self.surface.alias)
        receiving = self._receiving(inbox_worker)
        Watchdog(receiving).start()
        if self.with_runner:
            runs.runner().start()
        else:
            runs.leave_to_others()
        logger.info("%s: bot %s begins.", self.surface.alias, self.surface.account)
        jobs = [
            asyncio.create_task(job, name=name)
            for name, job in [("receiving", receiving.run()), ("inbox", inbox_worker.run()), ("outbox", sender.run())]
        ]
        previews = asyncio.create_task(Previews(self.surface, lambda: receiving.holds).run(), name="previews")
        menu = asyncio.create_task(self.surface.publish_menu(intake.menus()), name="menu")
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait([*jobs, waiting], return_when=asyncio.FIRST_COMPLETED)
        broken = [job for job in jobs if job.done()]  # none ends before it is told to
        until = time.monotonic() + self.grace
        receiving.stop()
        await asyncio.wait(jobs[:1])
        inbox_worker.stop()
        await asyncio.wait(jobs[1:2], timeout=self.grace)
        if self.with_runner:
            await asyncio.to_thread(runs.runner().stop, max(0.0, until - time.monotonic()))
        await sender.flush(max(1.0, until - time.monotonic()))
        sender.stop()
        await asyncio.wait(jobs[2:], timeout=max(1.0, until - time.monotonic()))
        for job in (*jobs, previews, menu, waiting):
            job.cancel()
        await asyncio.gather(*jobs, previews, menu, waiting, return_exceptions=True)
        await self.surface.close()
        db.close_threads()
        for job in broken:
            if not job.cancelled() and (error := job.exception()):
                raise CommandError(f"{job.get_name()} failed: {error!r}") from error
        logger.info("%s: stopped.", self.surface.alias)

    def _receiving(self, inbox_worker: InboxWorker) -> Receiving:
        if self.webhook:
            return Webhook(self.surface, self.owner, self.webhook)
        return Polling(self.surface, self.owner, inbox_worker.wake, delete_webhook=self.delete_webhook)

    def _signalled(self, number: int, stopped: asyncio.Event) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        logger.info("%s: stopping, at most %.0f s.", self.surface.alias, self.grace)
        stopped.set()


class Watchdog(threading.Thread):
    """Ends the process when it looks alive but is not. A thread: the loop itself may be what hangs."""

    def __init__(self, receiving: Receiving) -> None:
        super().__init__(name="crossmemory-watchdog", daemon=True)
        self.receiving = receiving

    def run(self) -> None:
        suspicions = 0
        while True:
            time.sleep(5)
            suspicions = suspicions + 1 if self.silent() else 0
            if suspicions > 1:  # a process that was stopped for a while gets one look to move again
                logger.critical("%s: no answer from Telegram for too long: leaving.", self.receiving.surface.alias)
                os._exit(SILENT)

    def silent(self) -> bool:
        now, completed = time.monotonic(), self.receiving.completed_at
        if now - self.receiving.alive_at > _STUCK_SECONDS:
            return True
        return completed is not None and now - completed > _SILENCE_SECONDS
