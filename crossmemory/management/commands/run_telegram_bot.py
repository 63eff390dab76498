"""`manage.py run_telegram_bot`: receives, answers and delivers for one Telegram bot until it is told to stop."""

import asyncio
import logging
import os
import signal
import socket
import threading
import time
import uuid
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError

from crossmemory import db, intake, runs
from crossmemory.conf import settings
from crossmemory.dispatch import Sender
from crossmemory.exceptions import Misconfigured
from crossmemory.intake.worker import InboxWorker
from crossmemory.surfaces import surfaces
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.polling import Polling
from crossmemory.surfaces.telegram.previews import Previews

logger = logging.getLogger("crossmemory.telegram")

MISCONFIGURED = 2
SILENT = 3  # Telegram, or this process itself, was silent for too long: a supervisor restarts it

_SILENCE_SECONDS = 600.0  # without an answer to getUpdates, after there was one
_STUCK_SECONDS = 120.0  # without a sign of life of the loop itself


class Command(BaseCommand):
    help = (
        "Runs a Telegram bot: stores what people write, answers, delivers. Exit codes: 0 stopped as asked, "
        "1 failed, 2 misconfigured, 3 silent for too long (restart it)."
    )
    requires_system_checks: list[str] = []  # they are run below, so that they have their own exit code

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--surface", default="", help="Alias of the surface; needed when several are Telegram's.")
        parser.add_argument("--no-runner", action="store_true", help="Leave the answers to other processes.")
        parser.add_argument(
            "--grace", type=float, default=10.0, help="Seconds that answers under way get after SIGTERM (default 10)."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        # python-telegram-bot's times as its next major version has them: its own switch, of a whole process.
        os.environ.setdefault("PTB_TIMEDELTA", "true")
        try:
            self.check()
        except SystemCheckError as error:
            raise CommandError(str(error), returncode=MISCONFIGURED) from error
        surface = chosen(options["surface"])
        process = Process(surface, with_runner=not options["no_runner"], grace=options["grace"])
        asyncio.run(process.run())


def chosen(alias: str) -> TelegramSurface:
    """The surface to run. Raises CommandError."""
    try:
        found = {name: surfaces[name] for name in ([alias] if alias else settings.SURFACES)}
    except (Misconfigured, ImportError, TypeError) as error:
        raise CommandError(str(error), returncode=MISCONFIGURED) from error
    telegram = {name: surface for name, surface in found.items() if isinstance(surface, TelegramSurface)}
    if len(telegram) != 1:
        known = ", ".join(telegram) or "none"
        raise CommandError(f"Name one Telegram surface with --surface; there is: {known}.", returncode=MISCONFIGURED)
    (surface,) = telegram.values()
    if problems := surface.check():
        raise CommandError(" ".join(f"{error.msg} {error.hint}" for error in problems), returncode=MISCONFIGURED)
    return surface


class Process:
    """Everything that runs in the bot's process."""

    def __init__(self, surface: TelegramSurface, *, with_runner: bool, grace: float) -> None:
        self.surface, self.with_runner, self.grace = surface, with_runner, grace
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}"

    async def run(self) -> None:
        """Until SIGTERM or SIGINT; then in order: take nothing more, finish answers, send them, end."""
        stopped = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._signalled, number, stopped)
        inbox_worker = InboxWorker(self.surface.alias, self.surface.account)
        sender = Sender(self.surface.alias)
        polling = Polling(self.surface, self.owner, inbox_worker.wake)
        Watchdog(polling).start()
        if self.with_runner:
            runs.runner().start()
        else:
            runs.leave_to_others()
        logger.info("%s: bot %s begins.", self.surface.alias, self.surface.account)
        jobs = [
            asyncio.create_task(job, name=name)
            for name, job in [("polling", polling.run()), ("inbox", inbox_worker.run()), ("outbox", sender.run())]
        ]
        previews = asyncio.create_task(Previews(self.surface, lambda: polling.holds).run(), name="previews")
        menu = asyncio.create_task(self.surface.publish_menu(intake.menus()), name="menu")
        waiting = asyncio.create_task(stopped.wait())
        await asyncio.wait([*jobs, waiting], return_when=asyncio.FIRST_COMPLETED)
        broken = [job for job in jobs if job.done()]  # none ends before it is told to
        until = time.monotonic() + self.grace
        polling.stop()
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

    def _signalled(self, number: int, stopped: asyncio.Event) -> None:
        if stopped.is_set():
            os._exit(128 + number)
        logger.info("%s: stopping, at most %.0f s.", self.surface.alias, self.grace)
        stopped.set()


class Watchdog(threading.Thread):
    """Ends the process when it looks alive but is not. A thread: the loop itself may be what hangs."""

    def __init__(self, polling: Polling) -> None:
        super().__init__(name="crossmemory-watchdog", daemon=True)
        self.polling = polling

    def run(self) -> None:
        suspicions = 0
        while True:
            time.sleep(5)
            suspicions = suspicions + 1 if self.silent() else 0
            if suspicions > 1:  # a process that was stopped for a while gets one look to move again
                logger.critical("%s: no answer to getUpdates for too long: leaving.", self.polling.surface.alias)
                os._exit(SILENT)

    def silent(self) -> bool:
        now, completed = time.monotonic(), self.polling.completed_at
        if now - self.polling.alive_at > _STUCK_SECONDS:
            return True
        return completed is not None and now - completed > _SILENCE_SECONDS
