"""`manage.py crossmemory_health`: how the surfaces do, for people and for supervisors."""

import json
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.utils import timezone

from crossmemory.conf import settings
from crossmemory.models import Delivery, InboundUpdate, Pause, Poller
from crossmemory.surfaces import Surface, surfaces

OK, UNHEALTHY, MISCONFIGURED = 0, 1, 2

_SUCCESS_SECONDS = 120  # a poller that polls succeeds at least every half minute
_OVERDUE_MINUTES = 5
_LATELY_HOURS = 24


@dataclass(slots=True)
class Health:
    """One connectable surface. Times in seconds."""

    surface: str
    state: str = ""
    detail: str = ""
    last_success: float | None = None
    waiting: int = 0
    dead: int = 0
    overdue: int = 0
    failed: int = 0
    unknown: int = 0
    paused: list[str] = field(default_factory=list)  # by staff, on purpose: no problem
    problems: list[str] = field(default_factory=list)
    misconfigured: bool = False


class Command(BaseCommand):
    help = "Prints how each surface does. Exit codes: 0 healthy, 1 unhealthy, 2 misconfigured."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument("--surface", default="", help="Look at this alias only.")

    def handle(self, *args: Any, **options: Any) -> None:
        found = [health(alias) for alias in ([options["surface"]] if options["surface"] else settings.SURFACES)]
        shown = [each for each in found if each is not None]
        code = max((_code(each) for each in shown), default=OK)
        if options["json"]:
            words = {OK: "healthy", UNHEALTHY: "unhealthy", MISCONFIGURED: "misconfigured"}
            self.stdout.write(json.dumps({"status": words[code], "surfaces": [asdict(each) for each in shown]}))
        else:
            for each in shown:
                self.stdout.write(_line(each))
        if code:
            raise SystemExit(code)


def health(alias: str) -> Health | None:
    """The health of one surface; None for one where nothing comes in."""
    found = Health(alias)
    try:
        surface = surfaces[alias]
        problems = [str(error.msg) for error in surface.check()]
    except Exception as error:  # whatever a wrong setting raises
        found.problems, found.misconfigured = [f"{type(error).__name__}: {error}"], True
        return found
    if problems:
        found.problems, found.misconfigured = problems, True
        return found
    if not surface.connectable:
        return None
    try:
        _look(found, surface)
    except DatabaseError as error:
        found.problems.append(f"The database: {error}")
    return found


def _look(found: Health, surface: Surface) -> None:
    now = timezone.now()
    lately = now - timedelta(hours=_LATELY_HOURS)
    place = Q(surface=surface.alias, account=surface.account)
    poller = Poller.objects.filter(place).first()
    if poller is None:
        found.state = "never"
        found.problems.append("No bot process has ever polled.")
    else:
        found.state, found.detail = poller.current.value, poller.detail
        if poller.last_success_at:
            found.last_success = round((now - poller.last_success_at).total_seconds(), 1)
        if poller.current != Poller.State.OK:
            found.problems.append(f"Polling: {poller.current.label}.")
        elif found.last_success is None or found.last_success > _SUCCESS_SECONDS:
            found.problems.append(f"Polling has had no success for {found.last_success or 0:.0f} s.")
    incoming = InboundUpdate.objects.filter(place)
    found.waiting = incoming.filter(status=InboundUpdate.Status.RECEIVED).count()
    found.dead = incoming.filter(status=InboundUpdate.Status.DEAD, received_at__gt=lately).count()
    if found.dead:
        found.problems.append(f"{found.dead} incoming updates need attention.")
    _look_outside(found, Delivery.objects.filter(place))
    pauses = Pause.objects.filter(surface__in=["", surface.alias]).order_by("pk")
    found.paused = [f"{row} since {row.since:%Y-%m-%d %H:%M} UTC" for row in pauses]


def _look_outside(found: Health, outgoing: QuerySet[Delivery]) -> None:
    now = timezone.now()
    lately = outgoing.filter(created_at__gt=now - timedelta(hours=_LATELY_HOURS))
    found.failed = lately.filter(status=Delivery.Status.FAILED).count()
    found.unknown = lately.filter(status=Delivery.Status.UNKNOWN).count()
    old = now - timedelta(minutes=_OVERDUE_MINUTES)
    due = Q(not_before=None) | Q(not_before__lt=old)
    found.overdue = outgoing.filter(due, status=Delivery.Status.PENDING, created_at__lt=old).count()
    if found.overdue:
        found.problems.append(f"{found.overdue} outgoing pieces are overdue.")
    if found.failed:
        found.problems.append(f"{found.failed} outgoing pieces failed.")


def _code(found: Health) -> int:
    if found.misconfigured:
        return MISCONFIGURED
    return UNHEALTHY if found.problems else OK


def _line(found: Health) -> str:
    age = "never" if found.last_success is None else f"{found.last_success:.0f} s ago"
    words = (
        f"{found.surface}: {found.state or 'misconfigured'} {found.detail}".rstrip()
        + f"; last success {age}; incoming {found.waiting} waiting, {found.dead} dead"
        + f"; outgoing {found.overdue} overdue, {found.failed} failed, {found.unknown} maybe sent"
    )
    paused = [f"  paused: {each}" for each in found.paused]
    return "\n".join([words, *paused, *(f"  ! {problem}" for problem in found.problems)])
