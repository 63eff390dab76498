"""What one person may use of an agent in a day, by their own clock: DAILY_MESSAGES, DAILY_TOKENS and DAILY_COST.

All their conversations with the agent count, on every surface. What is said is counted in the transaction that stores
it, by one statement that also refuses it: two messages at once cannot both be the last one. What an answer took counts
in the transaction that ends it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, cast
from zoneinfo import ZoneInfo

from django.db.models import F, Field, QuerySet
from django.utils import timezone

from crossmemory import db
from crossmemory.conf import settings
from crossmemory.events import timestamp
from crossmemory.exceptions import Invalid
from crossmemory.models import DailyUse, Owner, manner

NAMES = ("DAILY_MESSAGES", "DAILY_TOKENS", "DAILY_COST")
WARN_AT = 0.8  # of what may be used

_NANO = Decimal(10**9)  # billionths of a dollar
_COLUMNS = ("messages", "tokens", "nanodollars")


@dataclass(frozen=True, slots=True)
class Limits:
    """What may be used in a day; None: as much as they like. Money in billionths of a US dollar."""

    messages: int | None
    tokens: int | None
    nanodollars: int | None

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in _COLUMNS)


@dataclass(frozen=True, slots=True)
class Used:
    """What was used since the person's midnight."""

    messages: int
    tokens: int
    nanodollars: int
    resets_at: datetime
    limits: Limits

    @property
    def share(self) -> float:
        """Of what may be used: 1 is all of it."""
        limits = self.limits
        pairs = [(getattr(self, name), getattr(limits, name)) for name in _COLUMNS]
        return max((used / most for used, most in pairs if most), default=0.0)

    @property
    def messages_left(self) -> int | None:
        """How many more messages, where their number is what runs out first; None where it is something else."""
        most = self.limits.messages
        if not most or self.messages / most < max(WARN_AT, self.share):
            return None
        return max(0, most - self.messages)

    def warning(self) -> dict[str, Any] | None:
        """For clients, when little is left."""
        if self.share < WARN_AT:
            return None
        return {"messages_left": self.messages_left, "resets_at": timestamp(self.resets_at)}


class OverBudget(Invalid):
    """You have used up what the assistant may do for you in one day."""

    code = "over_budget"

    def __init__(self, used: Used) -> None:
        super().__init__()
        self.used = used

    @property
    def facts(self) -> dict[str, Any]:
        """When there is an answer again."""
        return {"resets_at": timestamp(self.used.resets_at)}


def limits_of(agent: str | None) -> Limits:
    """What people may use of an agent in a day: its own `BUDGET`, or what the site says."""
    own = settings.AGENTS.get(agent or "", {}).get("BUDGET", {})
    messages, tokens, cost = (own.get(name, getattr(settings, name)) for name in NAMES)
    return Limits(messages, tokens, _nano(cost) if cost is not None else None)


def count_message(owner: Owner) -> Used | None:
    """Count one more message of this person, in the transaction that stores it; None where nothing is limited.

    Raises OverBudget when all is used; nothing is counted then. One statement, but for the first of a day.
    """
    limits = limits_of(owner.agent)
    if not limits:
        return None
    row = _add(owner, {"messages": 1}, limits)
    if row is None and _begin_day(owner):
        row = _add(owner, {"messages": 1}, limits)
    if row is None:
        raise OverBudget(_read(owner, limits))
    return Used(*row, limits)


def check(owner: Owner) -> None:
    """Raises OverBudget when a person may have no further answer today."""
    limits = limits_of(owner.agent)
    if not limits:
        return
    today = _read(owner, limits)
    if today.share >= 1:
        raise OverBudget(today)


def spend(owner: Owner, usage: Mapping[str, Any] | None, before: Mapping[str, Any] | None = None) -> None:
    """Count what an answer took, in the transaction that ends it; `before` of it is counted already."""
    if not usage or not limits_of(owner.agent):
        return
    tokens = _tokens(usage) - _tokens(before or {})
    cost = _nano(usage.get("cost")) - _nano((before or {}).get("cost"))
    if not tokens and not cost:
        return
    more = {"tokens": F("tokens") + tokens, "nanodollars": F("nanodollars") + cost}
    if not _today(owner).update(**more) and _begin_day(owner):
        _today(owner).update(**more)


def used(row: DailyUse) -> Used:
    """A row as it stands to what is allowed now."""
    return Used(row.messages, row.tokens, row.nanodollars, row.resets_at, limits_of(row.agent))


def _rows(owner: Owner) -> QuerySet[DailyUse]:
    return DailyUse.objects.using(db.write_alias(DailyUse)).of(owner)


def _today(owner: Owner) -> QuerySet[DailyUse]:
    return _rows(owner).filter(resets_at__gt=timezone.now())


def _add(owner: Owner, more: Mapping[str, int], limits: Limits) -> tuple[int, int, int, datetime] | None:
    """Add to today's row while it is below every limit; what stands there then. None: over, or no day begun."""
    connection = db.connection_for(DailyUse)
    where = ["user_id = %s", "tenant = %s", "agent = %s", "resets_at > %s"]
    whose = {"user": owner.user_id, "tenant": owner.tenant, "agent": owner.agent, "resets_at": timezone.now()}
    keys = [
        cast("Field[Any, Any]", DailyUse._meta.get_field(name)).get_db_prep_value(value, connection)
        for name, value in whose.items()
    ]
    most = {name: getattr(limits, name) for name in _COLUMNS if getattr(limits, name)}
    where += [f"{name} < %s" for name in most]
    sets = ", ".join(f"{name} = {name} + %s" for name in more)
    sql = (
        f"UPDATE {DailyUse._meta.db_table} SET {sets} WHERE {' AND '.join(where)}"
        f" RETURNING {', '.join(_COLUMNS)}, resets_at"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [*more.values(), *keys, *most.values()])
        row = cursor.fetchone()
    return None if row is None else (row[0], row[1], row[2], _aware(row[3]))


def _begin_day(owner: Owner) -> bool:
    """A row that counts from now to the person's next midnight; False when there is one already. Of two that begin it
    at once, the second changes nothing."""
    if _today(owner).exists():
        return False
    now, zone = timezone.now(), ZoneInfo(manner(owner)[1])
    ends = datetime.combine(now.astimezone(zone).date() + timedelta(days=1), time(), zone)
    if not _rows(owner).filter(resets_at__lte=now).update(messages=0, tokens=0, nanodollars=0, resets_at=ends):
        new = DailyUse(user_id=owner.user_id, tenant=owner.tenant, agent=owner.agent or "", resets_at=ends)
        DailyUse.objects.using(db.write_alias(DailyUse)).bulk_create([new], ignore_conflicts=True)
    return True


def _read(owner: Owner, limits: Limits) -> Used:
    row = _today(owner).first()
    if row is None:
        return Used(0, 0, 0, timezone.now(), limits)
    return used(row)


def _tokens(usage: Mapping[str, Any]) -> int:
    counts = [usage.get("input_tokens"), usage.get("output_tokens")]
    return sum(count for count in counts if isinstance(count, int))


def _nano(cost: Any) -> int:
    """Dollars, however they are written, in billionths; 0 for what is not known."""
    try:
        return round(Decimal(str(cost)) * _NANO) if cost is not None else 0
    except (InvalidOperation, ValueError, OverflowError):
        return 0


def _aware(moment: Any) -> datetime:
    """A time as a raw statement gives it: SQLite has text, in UTC."""
    found: datetime = datetime.fromisoformat(moment) if isinstance(moment, str) else moment
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def is_limit(value: Any) -> bool:
    """Whether a setting says how much: a number above 0."""
    return not isinstance(value, bool) and _nano(value) > 0
