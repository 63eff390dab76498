"""Refusing: what a model's provider does not accept stays in the log and leaves memory."""

from collections.abc import Collection

from crossmemory import db
from crossmemory.models import Message, Run
from crossmemory.models.guard import log_writes


def refuse(run: Run, keys: Collection[int]) -> int:
    """Leave messages of the run's conversation out of every later context; returns how many."""
    rows = Message.objects.using(db.write_alias(Message)).filter(
        conversation=run.conversation_id, pk__in=list(keys), status=Message.Status.COMPLETE
    )
    with log_writes():
        return rows.update(status=Message.Status.REFUSED)
