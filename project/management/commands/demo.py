"""`manage.py demo`: the whole demo on this machine, with one command."""

import os
import socket
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from project.demo import health, history
from project.demo.people import ANA, PASSWORD, PEOPLE, STAFF, real_telegram
from project.demo.processes import Child, end, pid_file, running
from project.demo.supervisor import NotReady, Supervisor

HOST = "127.0.0.1"
SERVER_PATIENCE = 60.0  # seconds
BOT_PATIENCE = 60.0  # also the time until another process's lease ends
SERVER_MARK = "project.asgi:application"
BOT_MARK = "run_telegram_bot"
DEMO = "demo"


class Command(BaseCommand):
    help = "Run the demo site and its bot until Ctrl-C. PORT=8123 moves it; a second run keeps what was said."
    requires_system_checks: list[str] = []  # the bot's own start runs them

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, help=f"Port on {HOST}; the default is $PORT or 8000.")
        parser.add_argument("--fresh", action="store_true", help="Forget everything that earlier runs kept.")

    def handle(self, *args: Any, **options: Any) -> None:
        port = options["port"] or _port(settings.PORT)
        directory = Path(settings.DEMO_DIR)
        directory.mkdir(parents=True, exist_ok=True)
        _check_alone(port)
        self._end_leftovers()
        _check_free(port)
        pid_file(DEMO).write_text(str(os.getpid()))
        if options["fresh"]:
            _forget(directory)
        self._prepare()
        supervisor = Supervisor(self._say)
        supervisor.listen()
        try:
            self._start(supervisor, port, directory)
            if not supervisor.stopping.is_set():
                self._announce(port, directory)
                supervisor.watch()
            self._say("Stopping the bot, then the server…")
        except NotReady as error:
            raise CommandError(f"{error}\nEverything that was written: {directory}/*.log") from error
        finally:
            supervisor.stop()
            pid_file(DEMO).unlink(missing_ok=True)
        self._say("Stopped. What was said is kept: run it again, or with --fresh to begin anew.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _end_leftovers(self) -> None:
        """Processes of an earlier run that was killed itself would hold the port and the bot's place."""
        for name, mark in (("bot", BOT_MARK), ("server", SERVER_MARK)):
            if pid := running(name, mark):
                self._say(f"Ending the {name} of an earlier run (pid {pid})…")
                end(pid, grace=10)

    def _prepare(self) -> None:
        place = connection.settings_dict["NAME"] if connection.vendor == "sqlite" else connection.vendor
        self._say(f"Preparing the database ({place})…")
        call_command("migrate", verbosity=0, interactive=False)
        if history.seed(PEOPLE):
            self._say("Made the people ana and staff, with a little history.")
        else:
            self._say("Kept what earlier runs left (--fresh begins anew).")
        # The children have their own connections; an open one here would hold SQLite's files at the end.
        connection.close()

    def _start(self, supervisor: Supervisor, port: int, directory: Path) -> None:
        shared = {"PORT": str(port), "SANDBOX": "1", "DEMO_DIR": str(directory), "PYTHONUNBUFFERED": "1"}
        serve = ["--host", HOST, "--port", str(port), "--timeout-graceful-shutdown", "3", "--no-access-log"]
        server = Child(
            "server",
            [sys.executable, "-m", "uvicorn", SERVER_MARK, *serve, "--log-level", "warning"],
            shared,
            directory / "server.log",
        )
        bot = Child("bot", [sys.executable, "manage.py", BOT_MARK], shared, directory / "bot.log")
        self._say("Starting the server…")
        supervisor.start(server, lambda: health.server_answers(port), SERVER_PATIENCE)
        if supervisor.stopping.is_set():
            return
        where = settings.TELEGRAM_API_URL if real_telegram() else "the sandbox on this machine"
        self._say(f"Starting the bot ({where})…")
        try:
            supervisor.start(bot, health.bot_polls(), BOT_PATIENCE)
        except NotReady as error:
            raise NotReady(f"{error}\n{health.bot_trouble()}".rstrip()) from error
        finally:
            connection.close()

    def _announce(self, port: int, directory: Path) -> None:
        site = f"http://{HOST}:{port}"
        lines = [
            "",
            "crossmemory is running.",
            "",
            f"  Demo       {site}/demo/",
            f"  Sign in    {ANA.username} / {PASSWORD}   (a person, with her phone)",
            f"             {STAFF.username} / {PASSWORD}   (may also open the admin)",
            f"  Admin      {site}/admin/",
            f"  REST       {site}/api/crossmemory/conversations/",
        ]
        if real_telegram():
            lines += [
                "",
                f"  The bot is on {settings.TELEGRAM_API_URL}: connect your own account on the demo page.",
            ]
        else:
            lines.append(f"  Phone      {site}/sandbox/telegram/phone/{ANA.telegram_id}/")
        if model := os.environ.get("CROSSMEMORY_MODEL"):
            lines.append(f"  Model      {model}")
        lines += ["", f"  Logs       {directory}/server.log, {directory}/bot.log", "  Ctrl-C stops both.", ""]
        self._say("\n".join(lines))


def _port(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) < 65536:
        raise CommandError(f"PORT={value!r} is no port: choose a number such as PORT=8123.")
    return int(value)


def _check_alone(port: int) -> None:
    if (pid := running(DEMO, DEMO)) and pid != os.getpid():
        raise CommandError(
            f"The demo runs already (pid {pid}) with its data in {settings.DEMO_DIR}. Stop it with Ctrl-C; or run"
            f" another one beside it: DEMO_DIR=.demo/second PORT={port + 123} make demo"
        )


def _check_free(port: int) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name == "posix":  # elsewhere this option would let two servers share a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used ({error.strerror}). Choose another: PORT={port + 123} make demo"
            ) from error


def _forget(directory: Path) -> None:
    if connection.vendor != "sqlite":
        raise CommandError("--fresh removes the demo's own SQLite file only; empty that of DATABASE_URL by hand.")
    connection.close()
    name = Path(connection.settings_dict["NAME"])
    for part in (name, *(name.with_name(name.name + ending) for ending in ("-wal", "-shm", "-journal"))):
        part.unlink(missing_ok=True)
    for log in directory.glob("*.log"):
        log.unlink()
