from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.link import SurfaceLink
from crossmemory.models.message import Message


class InboundUpdate(models.Model):
    """What came in from a platform, committed before the platform is told. `raw` is kept as it came, and expires."""

    class Status(models.TextChoices):
        RECEIVED = "received", _("waiting")
        DONE = "done", _("handled")
        SKIPPED = "skipped", _("skipped")
        DEAD = "dead", _("needs attention")

    surface = models.CharField(_("surface"), max_length=64)
    account = models.CharField(_("our account"), max_length=64)
    external_id = models.CharField(_("their id"), max_length=128)
    kind = models.CharField(_("kind"), max_length=64, blank=True, default="")
    sender = models.CharField(_("sender"), max_length=64, blank=True, default="")
    raw = models.BinaryField(_("raw"), editable=False)
    link = models.ForeignKey(
        SurfaceLink, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("connected account")
    )
    conversation = models.ForeignKey(
        Conversation, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("conversation")
    )
    #: the platform's name of the message it is about, for edits of it: chat/id
    about = models.CharField(max_length=140, blank=True, default="", editable=False)
    message = models.ForeignKey(
        Message,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="came_as",
        db_index=False,
        verbose_name=_("message"),
    )
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.RECEIVED)
    outcome = models.CharField(_("outcome"), max_length=64, blank=True, default="")
    attempts = models.IntegerField(_("attempts"), default=0)
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    error = models.TextField(_("error"), blank=True, default="")
    received_at = models.DateTimeField(_("received"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    class Meta:
        verbose_name = _("incoming update")
        verbose_name_plural = _("incoming")
        constraints = [
            models.UniqueConstraint(fields=["surface", "account", "external_id"], name="crossmemory_inbound_once"),
        ]
        indexes = [
            models.Index(
                fields=["surface", "account", "id"],
                condition=models.Q(status="received"),
                name="crossmemory_inbound_waiting",
            ),
            models.Index(fields=["surface", "account", "sender", "-id"], name="crossmemory_inbound_sender"),
            models.Index(fields=["-id"], condition=models.Q(status="dead"), name="crossmemory_inbound_dead"),
            models.Index(fields=["received_at"], name="crossmemory_inbound_age"),
            models.Index(
                fields=["surface", "account", "about"],
                condition=~models.Q(about=""),
                name="crossmemory_inbound_about",
            ),
            models.Index(
                fields=["message"], condition=models.Q(message__isnull=False), name="crossmemory_inbound_message"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.surface} {self.external_id}"


class Poller(models.Model):
    """One bot's place in its platform's queue, who polls it now, and how that goes."""

    class State(models.TextChoices):
        OK = "ok", _("ok")
        CONFLICT = "conflict", _("another program polls this bot")
        BACKING_OFF = "backing_off", _("backing off")
        UNAUTHORISED = "unauthorised", _("the token is refused")
        WAITING = "waiting_for_lease", _("another process polls")
        STOPPED = "stopped", _("stopped")

    surface = models.CharField(_("surface"), max_length=64)
    account = models.CharField(_("our account"), max_length=64)
    offset = models.BigIntegerField(_("offset"), default=0)
    owner = models.CharField(_("process"), max_length=100, blank=True, default="")
    lease_until = models.DateTimeField(_("lease until"), null=True, blank=True)
    attempt = models.IntegerField(_("attempt"), default=0)
    state = models.CharField(_("state"), max_length=20, choices=State.choices, default=State.STOPPED)
    detail = models.TextField(_("detail"), blank=True, default="")
    last_success_at = models.DateTimeField(_("last success"), null=True, blank=True)

    class Meta:
        verbose_name = _("poller")
        verbose_name_plural = _("pollers")
        constraints = [models.UniqueConstraint(fields=["surface", "account"], name="crossmemory_one_poller")]

    def __str__(self) -> str:
        return f"{self.surface} {self.account}: {self.current.label}"

    @property
    def current(self) -> State:
        """The state now. `state` is what the last process said: one whose lease ran out was killed, or hangs."""
        if self.lease_until is None or self.lease_until < timezone.now():
            return self.State.STOPPED
        return self.State(self.state)
