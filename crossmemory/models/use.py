from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from crossmemory.models.owner import DEFAULT_AGENT, OwnedQuerySet


class DailyUse(models.Model):
    """What a person has used of one agent since their midnight; kept only where the site limits it.

    One row each: the first that is used on another day begins anew.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+", verbose_name=_("user"))
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    agent = models.CharField(_("assistant"), max_length=64, default=DEFAULT_AGENT)
    messages = models.BigIntegerField(_("messages"), default=0)
    tokens = models.BigIntegerField(_("tokens"), default=0)
    #: billionths of a US dollar: whole numbers add up exactly on every database
    nanodollars = models.BigIntegerField(_("cost"), default=0)
    #: the person's next midnight, by their time zone when the day began
    resets_at = models.DateTimeField(_("begins anew"))

    objects = OwnedQuerySet["DailyUse"].as_manager()

    class Meta:
        verbose_name = _("use of a day")
        verbose_name_plural = _("uses of a day")
        constraints = [models.UniqueConstraint(fields=["user", "tenant", "agent"], name="crossmemory_one_daily_use")]

    def __str__(self) -> str:
        return f"{self.agent} #{self.pk}"
