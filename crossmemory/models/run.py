import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.owner import OwnedQuerySet


class RunQuerySet(OwnedQuerySet["Run"]):
    owner_prefix = "conversation__"


class Run(models.Model):
    """One turn of the agent. `crossmemory.turns` moves its states; every write of a run is fenced by `attempt`."""

    class Status(models.TextChoices):
        QUEUED = "queued", _("waiting")
        RUNNING = "running", _("running")
        AWAITING_APPROVAL = "awaiting_approval", _("waiting for approval")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")
        STOPPED = "stopped", _("stopped")
        ABANDONED = "abandoned", _("abandoned")

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="runs", db_index=False, verbose_name=_("conversation")
    )
    agent = models.CharField(_("assistant"), max_length=64)
    trigger = models.BigIntegerField(_("trigger"), help_text=_("Seq of the message that asked for the answer."))
    status = models.CharField(_("status"), max_length=20, choices=Status.choices, default=Status.QUEUED)
    attempt = models.IntegerField(_("attempt"), default=0)
    worker = models.CharField(_("worker"), max_length=100, blank=True, default="")
    lease_until = models.DateTimeField(_("lease until"), null=True, blank=True)
    #: where the answer goes besides the log: {"surface", "account", "chat", "topic", "reply_to"}, or nothing
    destination = models.JSONField(_("answer goes to"), null=True, blank=True)
    stop_requested = models.BooleanField(_("stop requested"), default=False)
    tools_called = models.BooleanField(_("tools called"), default=False)
    #: a queued run waits until then for what else is being said: the rest of an album, of a long text
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    #: every approval it waits for is decided: somebody should go on with it
    ready = models.BooleanField(default=False, editable=False)
    #: what the agent wants back when it goes on after an approval
    agent_state = models.JSONField(null=True, blank=True, editable=False)
    #: the text so far, for surfaces that show it before it is a message; empty when nobody writes
    preview = models.TextField(blank=True, default="", editable=False)
    usage = models.JSONField(_("usage"), null=True, blank=True)
    manifest = models.JSONField(_("what the assistant saw"), null=True, blank=True)
    #: key of the oldest message in the window, so that the next window of this conversation can start there too
    window_start = models.BigIntegerField(null=True, blank=True, editable=False)
    #: on the primary surface: key of the oldest message of other conversations in it
    recent_start = models.BigIntegerField(null=True, blank=True, editable=False)
    degraded = models.BooleanField(_("earlier messages were missing"), default=False)
    error = models.TextField(_("error"), blank=True, default="")
    created_at = models.DateTimeField(_("queued"), default=timezone.now)
    started_at = models.DateTimeField(_("started"), null=True, blank=True)
    first_text_at = models.DateTimeField(_("first text"), null=True, blank=True)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    objects = RunQuerySet.as_manager()

    class Meta:
        verbose_name = _("reply")
        verbose_name_plural = _("replies")
        constraints = [
            models.UniqueConstraint(
                fields=["conversation"],
                condition=models.Q(status__in=["running", "awaiting_approval"]),
                name="crossmemory_one_active_run",
            ),
            models.UniqueConstraint(
                fields=["conversation"], condition=models.Q(status="queued"), name="crossmemory_one_queued_run"
            ),
        ]
        indexes = [
            models.Index(fields=["conversation", "-id"], name="crossmemory_run_newest"),
            models.Index(
                fields=["-id"],
                condition=models.Q(status__in=["failed", "abandoned"]),
                name="crossmemory_run_failed",
            ),
            models.Index(
                fields=["status", "lease_until"],
                condition=models.Q(status__in=["queued", "running", "awaiting_approval"]),
                name="crossmemory_run_open",
            ),
        ]

    def __str__(self) -> str:
        return str(self.uid)
