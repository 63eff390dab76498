"""`manage.py crossmemory_health`: how the surfaces do, for people and for supervisors."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from crossmemory.management.health import WORDS, Health, report


class Command(BaseCommand):
    help = "Prints how each surface does. Exit codes: 0 healthy, 1 unhealthy, 2 misconfigured."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument("--surface", default="", help="Look at this alias only.")

    def handle(self, *args: Any, **options: Any) -> None:
        code, shown = report(options["surface"])
        if options["json"]:
            self.stdout.write(json.dumps({"status": WORDS[code], "surfaces": [asdict(each) for each in shown]}))
        else:
            for each in shown:
                self.stdout.write(_line(each))
        if code:
            raise SystemExit(code)


def _line(found: Health) -> str:
    age = "never" if found.last_success is None else f"{found.last_success:.0f} s ago"
    words = (
        f"{found.surface}: {found.state or 'misconfigured'} {found.detail}".rstrip()
        + f"; last success {age}; incoming {found.waiting} waiting, {found.dead} dead"
        + f"; outgoing {found.overdue} overdue, {found.failed} failed, {found.unknown} maybe sent"
    )
    paused = [f"  paused: {each}" for each in found.paused]
    return "\n".join([words, *paused, *(f"  ! {problem}" for problem in found.problems)])
