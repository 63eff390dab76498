"""`manage.py run_telegram_bot`: receives, answers and delivers for one Telegram bot until it is told to stop."""

import asyncio
import os
from typing import Any
from urllib.parse import urlsplit

from django.core.management.base import BaseCommand, CommandError, CommandParser, SystemCheckError
from django.urls import NoReverseMatch, reverse

from crossmemory.conf import settings
from crossmemory.exceptions import Misconfigured
from crossmemory.management.bot_process import Process
from crossmemory.surfaces import surfaces
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.surface import API_URL

MISCONFIGURED = 2


class Command(BaseCommand):
    help = (
        "Runs a Telegram bot: stores what people write, answers, delivers. Exit codes: 0 stopped as asked, "
        "1 failed, 2 misconfigured, 3 silent for too long (restart it)."
    )
    requires_system_checks: list[str] = []  # they are run below, so that they have their own exit code

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--surface", default="", help="Alias of the surface; needed when several are Telegram's.")
        parser.add_argument("--no-runner", action="store_true", help="Leave the answers to other processes.")
        receiving = parser.add_mutually_exclusive_group()
        receiving.add_argument(
            "--webhook",
            metavar="URL",
            default="",
            help="Have Telegram bring updates to this site, whose public address this is (https://example.com), "
            "instead of asking for them. urls.py must include crossmemory.surfaces.telegram.urls.",
        )
        receiving.add_argument(
            "--delete-webhook", action="store_true", help="Undo an earlier --webhook, then poll. Nothing is dropped."
        )
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
        url = address(options["webhook"], surface) if options["webhook"] else ""
        process = Process(
            surface,
            with_runner=not options["no_runner"],
            grace=options["grace"],
            webhook=url,
            delete_webhook=options["delete_webhook"],
        )
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


def address(given: str, surface: TelegramSurface) -> str:
    """Where updates are brought: the site's address, with or without the path. Raises CommandError."""
    parts = urlsplit(given)
    try:
        path = reverse("crossmemory_telegram:updates", args=[surface.alias])
    except NoReverseMatch:
        raise CommandError(
            "--webhook needs the app's view: include crossmemory.surfaces.telegram.urls in the site's urls.py.",
            returncode=MISCONFIGURED,
        ) from None
    problem = ""
    if parts.scheme not in ("https", "http") or not parts.hostname:
        problem = "it begins with https://"
    elif parts.scheme == "http" and surface.api_url == API_URL:
        problem = "Telegram brings updates over https only"
    elif parts.path.strip("/") and not parts.path.endswith(path):
        problem = f"its path is {path}"
    if problem or parts.query or parts.fragment:
        raise CommandError(
            f"--webhook {given!r} is not this site's address: {problem or 'no ? or # in it'}.", returncode=MISCONFIGURED
        )
    return given if parts.path.strip("/") else f"{parts.scheme}://{parts.netloc}{path}"
