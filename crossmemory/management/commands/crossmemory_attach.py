"""`manage.py crossmemory_attach`: a conversation in the terminal, as tmux attaches to a session."""

import asyncio
import json
import os
import sys
from argparse import RawDescriptionHelpFormatter
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import broadcast, db, log, runs
from crossmemory.attach.terminal import choose
from crossmemory.attach.terminal.person import Person
from crossmemory.attach.terminal.program import Program
from crossmemory.attach.terminal.session import Ended, Session, finish
from crossmemory.conf import primary_surface
from crossmemory.events import Actor, timestamp
from crossmemory.exceptions import NotFound
from crossmemory.linking import language_of
from crossmemory.models import Conversation, Owner


class Command(BaseCommand):
    help = (
        "Attaches to a person's conversation: shows what was said, follows what happens, and sends what you type, in "
        "that person's name. Works on the database directly: no server is needed, and one that runs is not disturbed."
    )
    epilog = """\
in a terminal:
  Enter sends, Alt-Enter begins a new line, Ctrl-B d (or Ctrl-C) detaches, Ctrl-Z suspends.
  /stop            stop the answer that is being written
  /approve N       allow what the assistant asks permission for; /deny N refuses it
  /help            all commands

without a terminal:
  echo "When is my train?" | manage.py crossmemory_attach ana Trip     say it, and print the answer
  manage.py crossmemory_attach ana Trip --read-only | tee trip.txt     follow until interrupted
  manage.py crossmemory_attach ana Trip --json                         frames of the attach protocol, one a line
"""
    requires_system_checks: list[str] = []

    def create_parser(self, *args: Any, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(*args, **kwargs)
        parser.epilog, parser.formatter_class = self.epilog, RawDescriptionHelpFormatter
        return parser

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="Login name of the person.")
        parser.add_argument(
            "conversation",
            nargs="?",
            default="",
            help="Its id or the beginning of it, its title, or a surface (telegram). Without one: lists them.",
        )
        parser.add_argument("--new", action="store_true", help="Begin a new conversation, with this title.")
        parser.add_argument("--read-only", action="store_true", help="Follow, and send nothing.")
        parser.add_argument("--json", action="store_true", help="Frames of the protocol on stdout and stdin.")
        parser.add_argument("--no-runner", action="store_true", help="Leave the answers to other processes.")

    def handle(self, *args: Any, **options: Any) -> None:
        with translation.override(_language()):
            try:
                user = choose.person(options["user"])
                conversation = self._conversation(user, options)
                if conversation is not None:
                    self._attach(user, conversation, options)
            except (NotFound, Ended) as error:
                raise CommandError(str(error)) from error

    def _conversation(self, user: AbstractBaseUser, options: dict[str, Any]) -> Conversation | None:
        if options["new"]:
            actor = Actor("user", str(user.pk))
            return log.create(Owner.of(user), primary_surface(), options["conversation"], actor=actor)
        if options["conversation"]:
            return choose.conversation(user, options["conversation"])
        found = list(choose.conversations(user)[: choose.LISTED])
        for each in found:
            self.stdout.write(_as_json(each) if options["json"] else choose.line(each))
        if not found and not options["json"]:
            self.stdout.write(_("There are none yet: --new begins one."))
        return None

    def _attach(self, user: AbstractBaseUser, conversation: Conversation, options: dict[str, Any]) -> None:
        alone = options["read_only"] or options["no_runner"]
        if alone:
            runs.leave_to_others()
        fds = (sys.stdin.fileno(), sys.stdout.fileno())
        live = not options["json"] and os.isatty(fds[0]) and os.isatty(fds[1])
        color = (
            (os.isatty(fds[1]) or options["force_color"]) and not options["no_color"] and not os.environ.get("NO_COLOR")
        )

        async def attach() -> None:
            session: Session
            if options["json"]:
                session = Program(user, conversation, read_only=options["read_only"], fds=fds)
            else:
                session = Person(
                    user, conversation, read_only=options["read_only"], fds=fds, live=live, color=bool(color)
                )
            try:
                await session.run()
            finally:
                if live:
                    print(_("Detached. The conversation goes on."), flush=True)
                if not alone:
                    await finish(conversation)

        try:
            asyncio.run(attach())
        finally:
            broadcast.stop()
            db.close_threads()


def _language() -> str:
    """The language of whoever sits there, as the terminal says it, if the site has it."""
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return language_of(value.partition(".")[0].partition("@")[0].replace("_", "-"))
    return language_of("")


def _as_json(conversation: Conversation) -> str:
    return json.dumps(
        {
            "id": str(conversation.uid),
            "title": conversation.title,
            "surface": conversation.surface,
            "agent": conversation.agent,
            "head": conversation.head,
            "updated_at": timestamp(conversation.updated_at),
        },
        ensure_ascii=False,
    )
