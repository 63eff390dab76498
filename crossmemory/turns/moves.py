"""What every move of a run has in common: its fence, its lease by the database's clock, its rows."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from crossmemory import budget, clock, db
from crossmemory.conf import settings
from crossmemory.events import Actor
from crossmemory.exceptions import Fenced
from crossmemory.log import Pointers
from crossmemory.models import Message, Owner, Run, ToolCall

Status = Run.Status
#: the pointers of a conversation whose active run has ended
ENDED: Pointers = {"active_seq": None}
#: writes what must go out, in the transaction that moves the run: (run, message or None for a notice, text)
Outgoing = Callable[[Run, Message | None, str], None]
#: puts requests where they were asked, in the transaction that stores them
Asking = Callable[[Run, Sequence[ToolCall]], None]


def runs() -> QuerySet[Run]:
    return Run.objects.using(db.write_alias(Run))


def move(run: Run, fence: Q, **values: Any) -> None:
    if not runs().filter(fence, pk=run.pk).update(**values):
        raise Fenced


def mine(run: Run) -> Q:
    return Q(status=Status.RUNNING, attempt=run.attempt)


def close(run: Run, status: str, usage: dict[str, Any] | None, **values: Any) -> None:
    ended = {"status": status, "lease_until": None, "finished_at": Now(), "agent_state": None, "preview": ""}
    move(run, mine(run), usage=usage, **ended, **values)
    budget.spend(owner_of(run), usage, run.usage)
    run.status = status


def lease() -> Any:
    return clock.ahead(settings.RUN_LEASE_SECONDS)


def lapsed() -> Q:
    """Runs whose process is dead, or slept through its lease."""
    return Q(clock.lapsed(settings.RUN_LEASE_SECONDS), status=Status.RUNNING)


def owner_of(run: Run) -> Owner:
    return Owner(run.conversation.user_id, run.conversation.tenant, run.agent)


def by_whom(actor: Actor) -> Any:
    return actor.type if actor.type in ("user", "staff") else "system"
