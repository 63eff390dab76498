"""`manage.py crossmemory_expire`: forget what has had its time."""

from typing import Any

from django.core.management.base import BaseCommand

from crossmemory.expiry import expire


class Command(BaseCommand):
    help = (
        "Forgets what is kept for a time only: raw updates, earlier texts of edited messages, files that were never"
        " sent. A server or bot that carries out replies does this every hour by itself; a site whose RUNNER is"
        " another program calls this from cron."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        found = expire()
        self.stdout.write(", ".join(f"{count} {name}" for name, count in found.items()))
