"""What is kept for a time only: raw updates, earlier texts of edited messages, files that were never sent."""

from django.db.models.functions import Now

from crossmemory import attachments, db, inbox
from crossmemory.models import MessageRevision
from crossmemory.models.guard import log_writes

EVERY_SECONDS = 3600.0
"""How often a process that runs all the time calls `expire`."""


def expire() -> dict[str, int]:
    """Forget what has had its time; how many of each."""
    with log_writes():
        revisions, _ = (
            MessageRevision.objects.using(db.write_alias(MessageRevision)).filter(expires_at__lt=Now()).delete()
        )
    return {"updates": inbox.clean_up(), "revisions": revisions, "files": attachments.expire()}


aexpire = db.twin(expire)
