"""`manage.py crossmemory_pause`: what is paused, and pausing and resuming from a terminal."""

from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter

from crossmemory import pausing
from crossmemory.conf import settings
from crossmemory.models.pause import LONGEST_TEXT

EXAMPLES = """\
examples:
  manage.py crossmemory_pause                                  what is paused, and how many replies wait
  manage.py crossmemory_pause start --everything               no reply begins anywhere
  manage.py crossmemory_pause start --surface telegram --text "Back at 10:00."
  manage.py crossmemory_pause start --agent default            one assistant, on every surface
  manage.py crossmemory_pause end --surface telegram           what waited there is answered
  manage.py crossmemory_pause end --everything                 ends every pause

While something is paused, what people write is stored, and replies under way are finished. On surfaces like Telegram
people are told once in each chat, on the site a line says it. Running processes keep to it within a second; nothing
has to be restarted.
"""


class Command(BaseCommand):
    help = "Pauses replies, of everything or of one surface or assistant, until they are resumed; shows what is paused."
    requires_system_checks: list[str] = []

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(*args, epilog=EXAMPLES, **kwargs)
        parser.formatter_class = _Formatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        actions = ("show", "start", "end")
        parser.add_argument("action", nargs="?", choices=actions, default="show", help="show (default), start or end")
        parser.add_argument("--everything", action="store_true", help="All surfaces and all assistants.")
        parser.add_argument("--surface", default="", help="Alias of one surface, as in SURFACES.")
        parser.add_argument("--agent", default="", help="Alias of one assistant, as in AGENTS.")
        parser.add_argument(
            "--text", default="", help="What people are told, as it is. Without it, a line in each person's language."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        surface, agent, text = options["surface"], options["agent"], options["text"]
        if options["action"] != "show":
            if bool(surface or agent) == options["everything"]:
                raise CommandError("Say what: --everything, or --surface and --agent.", returncode=2)
            if options["action"] == "start":
                _check(surface, settings.SURFACES, "surface")
                _check(agent, settings.AGENTS, "assistant")
                if len(text) > LONGEST_TEXT:
                    raise CommandError(f"The text is longer than {LONGEST_TEXT} characters.", returncode=2)
                pausing.pause(surface, agent, text)
            elif not pausing.resume(pausing.within(surface, agent)):
                self.stdout.write("That was not paused.")
        for line in _lines():
            self.stdout.write(line)


class _Formatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """The examples in their lines."""


def _check(alias: str, known: Any, kind: str) -> None:
    if alias and alias not in known:
        raise CommandError(f"There is no {kind} {alias!r}; there is: {', '.join(known)}.", returncode=2)


def _lines() -> list[str]:
    rows = list(pausing.with_waiting(pausing.within()).order_by("pk"))
    if not rows:
        return ["Nothing is paused."]
    return [
        f"Paused: {row}, since {row.since:%Y-%m-%d %H:%M} UTC; {row.waiting} replies wait."
        + (f" People are told: {row.notice}" if row.notice else "")
        for row in rows
    ]
