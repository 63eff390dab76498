import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory import db
from crossmemory.models.owner import PersonQuerySet


class Sharing(models.TextChoices):
    """What a surface exchanges with the person's memory."""

    BOTH = "both", _("Both ways")
    READS = "reads", _("One way: it knows the rest, what is said there stays there")
    SEPARATE = "separate", _("Separate")


class SurfaceLink(models.Model):
    """The proof that an outside account belongs to a site user."""

    class Status(models.TextChoices):
        PENDING = "pending", _("waiting for the person to confirm")
        ACTIVE = "active", _("connected")
        ENDED = "ended", _("disconnected")

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+", verbose_name=_("user"))
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    surface = models.CharField(_("surface"), max_length=64)
    account = models.CharField(_("our account"), max_length=64, help_text=_("Bot id or phone number id."))
    external_id = models.CharField(_("their id"), max_length=64)
    chat = models.CharField(_("chat"), max_length=64, blank=True, default="")
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    sharing = models.CharField(_("memory"), max_length=10, choices=Sharing.choices, default=Sharing.BOTH)
    approvals = models.BooleanField(
        _("decides about tools"),
        default=False,
        help_text=_("What the assistant asks permission for may be decided there, where the tool allows it."),
    )
    language = models.CharField(_("language"), max_length=20, blank=True, default="")
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    unreachable = models.CharField(_("unreachable"), max_length=200, blank=True, default="")
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    confirmed_at = models.DateTimeField(_("confirmed"), null=True, blank=True)
    ended_at = models.DateTimeField(_("ended"), null=True, blank=True)

    objects = PersonQuerySet["SurfaceLink"].as_manager()

    class Meta:
        verbose_name = _("connected account")
        verbose_name_plural = _("connected accounts")
        constraints = [
            models.UniqueConstraint(
                fields=["surface", "account", "external_id"],
                condition=models.Q(status="active"),
                name="crossmemory_link_account_once",
            ),
            models.UniqueConstraint(
                fields=["user", "tenant", "surface", "account"],
                condition=models.Q(status="active"),
                name="crossmemory_link_user_once",
            ),
        ]
        indexes = [models.Index(fields=["surface", "account", "external_id"], name="crossmemory_link_external")]

    def __str__(self) -> str:
        return f"{self.surface}: {self.name or self.external_id}"

    @classmethod
    def of_chat(cls, surface: str, account: str, chat: str) -> "models.QuerySet[SurfaceLink]":
        """The connected account behind a chat, where it is written; no group has one."""
        rows = cls.objects.using(db.write_alias(cls))
        return rows.filter(surface=surface, account=account, chat=chat, status=cls.Status.ACTIVE)


class LinkCode(models.Model):
    """A one-time code that makes a link; only its hash is kept."""

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+", verbose_name=_("user"))
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    surface = models.CharField(_("surface"), max_length=64)
    sharing = models.CharField(_("memory"), max_length=10, choices=Sharing.choices, default=Sharing.BOTH)
    code_hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"))
    used_at = models.DateTimeField(_("used"), null=True, blank=True)

    objects = PersonQuerySet["LinkCode"].as_manager()

    class Meta:
        verbose_name = _("link code")
        verbose_name_plural = _("link codes")

    def __str__(self) -> str:
        return f"{self.surface} {self.created_at:%Y-%m-%d %H:%M}"
