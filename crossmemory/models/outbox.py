import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.inbox import InboundUpdate
from crossmemory.models.message import Message
from crossmemory.models.tool import ToolCall


class DeliveryQuerySet(models.QuerySet["Delivery"]):
    def queue(
        self,
        destination: Mapping[str, str],
        payloads: Sequence[Mapping[str, Any]],
        *,
        conversation: Conversation | None = None,
        message: Message | None = None,
        inbound: InboundUpdate | None = None,
        tool_call: ToolCall | None = None,
    ) -> int:
        """Rows for the pieces of one message, notice or card, unless it has some at this destination; how many."""
        place = {name: destination.get(name, "") for name in ("surface", "account", "chat", "topic")}
        if message is not None:
            earlier = self.filter(message=message.pk, **place)
        elif inbound is not None:
            earlier = self.filter(message=None, inbound=inbound.pk, chat=place["chat"])
        elif tool_call is not None:
            earlier = self.filter(tool_call=tool_call.pk, **place)
        else:
            earlier = self.none()
        if earlier.exists():
            return 0
        rows = [
            Delivery(
                conversation=conversation,
                message=message,
                inbound=inbound,
                tool_call=tool_call,
                card_open=tool_call is not None,
                reply_to=destination.get("reply_to", ""),
                piece=piece,
                payload=dict(payload),
                **place,
            )
            for piece, payload in enumerate(payloads)
        ]
        return len(self.bulk_create(rows))


class Delivery(models.Model):
    """One piece that must go out: of a message, or (without one) a notice that answers an incoming update."""

    class Status(models.TextChoices):
        PENDING = "pending", _("waiting")
        SENDING = "sending", _("being sent")
        SENT = "sent", _("sent")
        UNKNOWN = "unknown", _("maybe sent")
        FAILED = "failed", _("failed")
        BLOCKED = "blocked", _("blocked by the person")
        CANCELLED = "cancelled", _("cancelled")

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, null=True, blank=True, related_name="+", verbose_name=_("conversation")
    )
    message = models.ForeignKey(
        Message,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="deliveries",
        db_index=False,
        verbose_name=_("message"),
    )
    inbound = models.ForeignKey(
        InboundUpdate,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        verbose_name=_("answers"),
    )
    #: the request that this piece asks about, with buttons where it may be decided there
    tool_call = models.ForeignKey(
        ToolCall,
        models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("tool call"),
    )
    #: what was decided is not yet shown there
    card_open = models.BooleanField(default=False, editable=False)
    surface = models.CharField(_("surface"), max_length=64)
    account = models.CharField(_("our account"), max_length=64)
    chat = models.CharField(_("chat"), max_length=64)
    topic = models.CharField(_("topic"), max_length=64, blank=True, default="")
    reply_to = models.CharField(_("reply to"), max_length=64, blank=True, default="")
    piece = models.IntegerField(_("piece"), default=0)
    payload = models.JSONField(_("payload"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    attempts = models.IntegerField(_("attempts"), default=0)
    #: an answer of unknown fate has been sent once more, labelled
    repeated = models.BooleanField(_("sent again"), default=False)
    worker = models.CharField(max_length=100, blank=True, default="", editable=False)
    lease_until = models.DateTimeField(null=True, blank=True, editable=False)
    #: its sender is about to hand it to the platform: from here on nobody knows, until an outcome is recorded
    handed_at = models.DateTimeField(_("handed over"), null=True, blank=True, editable=False)
    not_before = models.DateTimeField(_("not before"), null=True, blank=True)
    external_id = models.CharField(_("their id"), max_length=128, blank=True, default="")
    error = models.TextField(_("error"), blank=True, default="")
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True)

    objects = DeliveryQuerySet.as_manager()

    class Meta:
        verbose_name = _("outgoing piece")
        verbose_name_plural = _("outgoing")
        constraints = [
            models.UniqueConstraint(
                fields=["message", "surface", "account", "chat", "topic", "piece"],
                condition=models.Q(message__isnull=False),
                name="crossmemory_delivery_once",
            ),
            models.UniqueConstraint(
                fields=["inbound", "chat", "piece"],
                condition=models.Q(inbound__isnull=False, message__isnull=True),
                name="crossmemory_notice_once",
            ),
        ]
        indexes = [
            models.Index(
                fields=["surface", "account", "id"],
                condition=models.Q(status__in=["pending", "sending"]),
                name="crossmemory_delivery_waiting",
            ),
            models.Index(fields=["status", "-id"], name="crossmemory_delivery_status"),
            models.Index(
                fields=["surface", "account"], condition=models.Q(card_open=True), name="crossmemory_delivery_cards"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.surface} {self.chat} #{self.piece}"
