"""How the surfaces do: for the command, and for an address that supervisors ask."""

from dataclasses import asdict, dataclass, field
from datetime import timedelta

from django.db import DatabaseError
from django.db.models import Q, QuerySet
from django.http import HttpRequest, JsonResponse
from django.utils import timezone

from crossmemory.conf import settings
from crossmemory.models import Delivery, InboundUpdate, Pause, Poller
from crossmemory.surfaces import Surface, surfaces

OK, UNHEALTHY, MISCONFIGURED = 0, 1, 2
WORDS = {OK: "healthy", UNHEALTHY: "unhealthy", MISCONFIGURED: "misconfigured"}

_SUCCESS_SECONDS = 120  # a bot that receives hears from its platform at least every half minute
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


def view(request: HttpRequest) -> JsonResponse:
    """200 while all is well, else 503: `{"status", "surfaces": [{"surface", "state"}]}`. Staff get the particulars.

    Not in the REST feed, whose addresses are for people who are signed in: include it where supervisors may ask.
    """
    code, found = report()
    user = getattr(request, "user", None)
    staff = bool(user and user.is_active and user.is_staff)
    shown = [asdict(each) if staff else {"surface": each.surface, "state": each.state} for each in found]
    return JsonResponse({"status": WORDS[code], "surfaces": shown}, status=503 if code else 200)


def report(alias: str = "") -> tuple[int, list[Health]]:
    """The worst code, and every surface where something comes in, or the one that is named."""
    found = [health(each) for each in ([alias] if alias else settings.SURFACES)]
    shown = [each for each in found if each is not None]
    return max((_code(each) for each in shown), default=OK), shown


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
        found.problems.append("No bot process has ever run.")
    else:
        found.state, found.detail = poller.current.value, poller.detail
        if poller.last_success_at:
            found.last_success = round((now - poller.last_success_at).total_seconds(), 1)
        if poller.current != Poller.State.OK:
            found.problems.append(f"Receiving: {poller.current.label}.")
        elif found.last_success is None or found.last_success > _SUCCESS_SECONDS:
            found.problems.append(f"Receiving has had no success for {found.last_success or 0:.0f} s.")
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
