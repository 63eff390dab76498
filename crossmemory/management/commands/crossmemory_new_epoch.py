"""`manage.py crossmemory_new_epoch`: after a restored backup, every client shows what the database holds."""

from typing import Any

from django.core.management.base import BaseCommand

from crossmemory import db
from crossmemory.models import Conversation, new_epoch


class Command(BaseCommand):
    help = (
        "Gives every log a new epoch, so that every client draws it anew. To be run after the database was restored"
        " from a backup, before people come back: a client that saw more than the backup holds would take what is said"
        " next for what it has already."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        count = Conversation.objects.using(db.write_alias(Conversation)).update(epoch=new_epoch())
        self.stdout.write(f"Conversations with a new epoch: {count}.")
