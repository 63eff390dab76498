import uuid

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.owner import OwnedQuerySet
from crossmemory.models.run import Run


class ToolCallQuerySet(OwnedQuerySet["ToolCall"]):
    owner_prefix = "conversation__"


class ToolCall(models.Model):
    """A tool that the agent used or wants to use, and the person's decision about it. Decided once."""

    class Status(models.TextChoices):
        CALLED = "called", _("called")
        REQUESTED = "requested", _("waiting for approval")
        APPROVED = "approved", _("approved")
        DENIED = "denied", _("not approved")
        EXPIRED = "expired", _("expired")
        CANCELLED = "cancelled", _("cancelled")
        COMPLETED = "completed", _("completed")
        FAILED = "failed", _("failed")

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="tool_calls", db_index=False, verbose_name=_("conversation")
    )
    run = models.ForeignKey(Run, models.CASCADE, related_name="tool_calls", verbose_name=_("reply"))
    name = models.CharField(_("tool"), max_length=200)
    title = models.CharField(_("title"), max_length=200, blank=True, default="")
    arguments = models.JSONField(_("arguments"), null=True, blank=True)
    args_hash = models.CharField(_("hash of the arguments"), max_length=64, blank=True, default="")
    status = models.CharField(_("status"), max_length=12, choices=Status.choices, default=Status.CALLED)
    #: aliases of the surfaces where it may be decided; NULL: anywhere
    surfaces = models.JSONField(_("decided on"), null=True, blank=True)
    #: seconds since the last sign-in at most; NULL: any sign-in will do
    fresh_sign_in = models.IntegerField(_("fresh sign-in"), null=True, blank=True)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    decided_by = models.CharField(_("decided by"), max_length=255, blank=True, default="")
    decided_where = models.CharField(_("decided where"), max_length=64, blank=True, default="")
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    result = models.JSONField(_("result"), null=True, blank=True)
    error = models.TextField(_("error"), blank=True, default="")
    created_at = models.DateTimeField(_("called at"), default=timezone.now)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)

    objects = ToolCallQuerySet.as_manager()

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        indexes = [
            models.Index(fields=["conversation", "-id"], name="crossmemory_tool_newest"),
            models.Index(
                fields=["expires_at"], condition=models.Q(status="requested"), name="crossmemory_tool_requested"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.uid}"
