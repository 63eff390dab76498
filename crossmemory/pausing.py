"""Pause: what comes in is stored, and no reply begins for it, until staff resume.

A pause is a row, for one assistant, one surface, one assistant on one surface, or everything. Replies under way are
finished. `turns.claimable` leaves out what is paused, so that every process keeps to it, and what waits is simply there
when the row is gone.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.db.models import Count, F, IntegerField, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce, NullIf
from django.utils.translation import gettext as _

from crossmemory import db, runs
from crossmemory.clean import clean
from crossmemory.conf import surface_label
from crossmemory.models import Pause, Run

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Paused:
    """That an assistant is paused on a surface."""

    since: datetime  # of the longest of its pauses
    own_words: str  # what staff wrote for it; empty: nothing

    @property
    def words(self) -> str:
        """What people are told, in the active language where staff wrote nothing."""
        return self.own_words or _("I am taking a break. What you write is kept, and I answer it when I am back.")


class Pauses:
    """What is paused, as it was when this was made: one query, of a table with hardly a row."""

    def __init__(self) -> None:
        self._rows: Sequence[Pause] = list(_rows().order_by("pk"))

    def over(self, agent: str, surface: str) -> Paused | None:
        """Whether this assistant is paused on this surface; with the words of the narrowest pause that has some."""
        found = [row for row in self._rows if row.holds_for(agent, surface)]
        if not found:
            return None
        narrowest = sorted(found, key=lambda row: (bool(row.agent) + bool(row.surface), bool(row.surface)))
        words = [row.notice.strip() for row in narrowest if row.notice.strip()]
        return Paused(min(row.since for row in found), words[-1] if words else "")


def pause(surface: str = "", agent: str = "", text: str = "") -> Pause:
    """Pause what is named; without a name every one. What is paused already gets the new text, and stays since then."""
    row, made = _rows().update_or_create(surface=surface, agent=agent, defaults={"notice": clean(text)})
    if made:
        announce(row)
    return row


def announce(row: Pause) -> None:
    """Have the log say that a pause began."""
    logger.warning("Paused: %s.", row)


def resume(rows: QuerySet[Pause]) -> int:
    """End these pauses; how many there were. What waited is answered."""
    names = [str(row) for row in rows.order_by("pk")]
    ended, _each = rows.delete()
    if ended:
        logger.warning("Resumed: %s.", ", ".join(names))
        transaction.on_commit(partial(_wake, runs.runner()), using=rows.db, robust=True)
    return ended


def named(row: Pause) -> str:
    """What a pause is about, in words."""
    surface = surface_label(row.surface) if row.surface else ""
    if row.surface and row.agent:
        return _("%(assistant)s on %(surface)s") % {"assistant": row.agent, "surface": surface}
    return surface or row.agent or _("everything")


def within(surface: str = "", agent: str = "") -> QuerySet[Pause]:
    """The pauses of what is named, and all narrower ones; without a name every one."""
    about = {name: value for name, value in (("surface", surface), ("agent", agent)) if value}
    return _rows().filter(**about)


def with_waiting(rows: QuerySet[Pause]) -> Any:
    """Each with `waiting`: how many replies wait for its end, and perhaps for that of others."""
    queued = Run.objects.using(rows.db).filter(status=Run.Status.QUEUED).order_by()
    named_or_every = [NullIf(OuterRef(name), Value("")) for name in ("agent", "surface")]
    held = queued.filter(
        agent=Coalesce(named_or_every[0], F("agent")),
        conversation__surface=Coalesce(named_or_every[1], F("conversation__surface")),
    ).annotate(every=Value(1))
    count = held.values("every").annotate(count=Count("pk")).values("count")
    return rows.annotate(waiting=Coalesce(Subquery(count, output_field=IntegerField()), 0))


def _rows() -> QuerySet[Pause]:
    return Pause.objects.using(db.write_alias(Pause))


def _wake(runner: runs.Runner) -> None:
    """One that looks by itself finds what waits; started here it might be in a command that ends at once."""
    if not runner.looks:
        runner.wake()
