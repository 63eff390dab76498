"""A bot's place in Telegram's queue: the Poller row with its offset, its lease and how it goes.

One process polls a bot at a time. The lease is by the database's clock; `attempt` fences a process that slept through
its lease.
"""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from crossmemory import clock, db, inbox
from crossmemory.clean import clean
from crossmemory.exceptions import Fenced
from crossmemory.inbox import Incoming
from crossmemory.models import Poller

LEASE_SECONDS = 20.0  # another process takes over after this much silence
RENEW_SECONDS = 5.0

State = Poller.State


class Place:
    """What one process knows about its place."""

    def __init__(self, surface: str, account: str, owner: str) -> None:
        self.surface, self.account, self.owner = surface, account, owner[:100]
        self.attempt = 0
        self.username = ""

    def _row(self) -> QuerySet[Poller]:
        return Poller.objects.using(db.write_alias(Poller)).filter(surface=self.surface, account=self.account)

    def _mine(self) -> QuerySet[Poller]:
        return self._row().filter(owner=self.owner, attempt=self.attempt)

    def take(self) -> bool:
        """Take the lease if nobody holds it."""
        Poller.objects.using(db.write_alias(Poller)).get_or_create(surface=self.surface, account=self.account)
        free = Q(lease_until=None) | clock.lapsed(LEASE_SECONDS) | Q(owner=self.owner)
        if (
            not self._row()
            .filter(free)
            .update(
                owner=self.owner,
                lease_until=clock.ahead(LEASE_SECONDS),
                attempt=F("attempt") + 1,
                state=State.BACKING_OFF,
            )
        ):
            return False
        self.attempt = self._row().values_list("attempt", flat=True).get()
        return True

    def renew(self) -> bool:
        """Hold the lease for longer; False when somebody else has it."""
        return bool(self._mine().update(lease_until=clock.ahead(LEASE_SECONDS)))

    def note(self, state: str, trouble: str = "") -> bool:
        """Say how polling goes. The bot's name stands in front, so that the site knows it."""
        values: dict[str, Any] = {"state": state, "detail": self._detail(trouble)}
        if state == State.OK:
            values["last_success_at"] = Now()
        return bool(self._mine().update(**values))

    def store(self, batch: Sequence[Incoming], offset: int | None) -> None:
        """Commit what came, and where it ends, in one transaction. Only then may the platform be told.

        Raises Fenced when somebody else has the lease; what came is stored all the same.
        """
        with transaction.atomic(using=db.write_alias(Poller)):
            # After a quiet week ids start anywhere, also where they have been before.
            inbox.store_all(self.surface, self.account, batch, ids_return=True)
            values: dict[str, Any] = {"state": State.OK, "detail": self._detail(""), "last_success_at": Now()}
            if offset is not None:
                values["offset"] = offset
            mine = self._mine().update(**values)
        if not mine:
            raise Fenced("Another process polls this bot now.")

    def release(self) -> None:
        """Let the next process begin at once."""
        self._mine().update(owner="", lease_until=None, state=State.STOPPED, detail=self._detail(""))

    def _detail(self, trouble: str) -> str:
        return clean(f"@{self.username} {trouble}".strip() if self.username else trouble)[:1000]
