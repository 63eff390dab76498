from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from crossmemory import db
from crossmemory.models.owner import Owner, PersonQuerySet


class Preference(models.Model):
    """One person's language and time zone, as the assistant uses them on every surface."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+", verbose_name=_("user"))
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    language = models.CharField(_("language"), max_length=20, blank=True, default="")
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True, default="")
    #: key of the newest message before a fresh start everywhere; memory brings up what came after it
    boundary = models.BigIntegerField(default=0, editable=False)

    objects = PersonQuerySet["Preference"].as_manager()

    class Meta:
        verbose_name = _("preference")
        verbose_name_plural = _("preferences")
        constraints = [models.UniqueConstraint(fields=["user", "tenant"], name="crossmemory_one_preference")]

    def __str__(self) -> str:
        return f"{self.user_id}"


def manner(owner: Owner) -> tuple[str, str]:
    """The language and time zone to talk to this person in: their own, or the site's."""
    found = Preference.objects.using(db.write_alias(Preference)).of(owner).values_list("language", "time_zone").first()
    language, time_zone = found or ("", "")
    return language or settings.LANGUAGE_CODE, time_zone or settings.TIME_ZONE
