from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.guard import Guarded, GuardedQuerySet


class EventQuerySet(GuardedQuerySet["Event"]):
    owner_prefix = "conversation__"


class Event(Guarded):
    """One entry of a conversation's log. `body` is the encoded JSON as text, sent to clients as it is (the seq is
    added in front: only the database knows it). Run and message are plain references: rows of a log leave only with
    their conversation, or by trimming, and are found by (conversation, seq)."""

    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="events", db_index=False, verbose_name=_("conversation")
    )
    seq = models.BigIntegerField(_("seq"))
    type = models.CharField(_("type"), max_length=40)
    run = models.ForeignKey(
        "crossmemory.Run",
        models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("reply"),
    )
    message = models.ForeignKey(
        "crossmemory.Message",
        models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("message"),
    )
    opens_turn = models.BooleanField(_("opens a turn"), default=False)
    body = models.TextField(_("body"))
    bytes = models.IntegerField(_("bytes"))
    created_at = models.DateTimeField(_("stored"), default=timezone.now)

    objects = EventQuerySet.as_manager()

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        constraints = [models.UniqueConstraint(fields=["conversation", "seq"], name="crossmemory_event_seq")]

    def __str__(self) -> str:
        return f"{self.seq} {self.type}"
