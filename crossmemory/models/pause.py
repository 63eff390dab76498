"""What is paused, by staff, for a while."""

from typing import Any, Self

from django.db import models
from django.db.models import OuterRef, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

LONGEST_TEXT = 1000
"""Characters of what people are told: fits into one message everywhere."""


class PauseQuerySet(models.QuerySet["Pause"]):
    def over(self, agent: str | OuterRef, surface: str | OuterRef) -> Self:
        """The pauses that hold for what this assistant does on this surface."""
        return self.filter(Q(agent="") | Q(agent=agent), Q(surface="") | Q(surface=surface))


class Pause(models.Model):
    """While this row is there, no reply begins for what it is about. Empty names mean: every one."""

    surface = models.CharField(_("surface"), max_length=64, blank=True, default="")
    agent = models.CharField(_("assistant"), max_length=64, blank=True, default="")
    notice = models.TextField(
        _("what people are told"),
        blank=True,
        default="",
        max_length=LONGEST_TEXT,
        help_text=_("Once in each chat, as it is. Empty: a line that says it in the person's language."),
    )
    #: by the database's clock, as what people were told meanwhile is compared with it
    since = models.DateTimeField(_("since"), db_default=Now(), editable=False)

    objects = PauseQuerySet.as_manager()

    class Meta:
        verbose_name = _("pause")
        verbose_name_plural = _("pauses")
        constraints = [models.UniqueConstraint(fields=["surface", "agent"], name="crossmemory_one_pause")]

    def __str__(self) -> str:
        return " · ".join(filter(None, [self.surface, self.agent])) or str(_("everything"))

    def holds_for(self, agent: Any, surface: Any) -> bool:
        """What `PauseQuerySet.over` asks the database."""
        return self.agent in ("", agent) and self.surface in ("", surface)
