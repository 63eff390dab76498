import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.models.conversation import Conversation
from crossmemory.models.guard import Guarded, GuardedQuerySet
from crossmemory.models.owner import DEFAULT_AGENT

#: The order in which memory reads. Not "-id": PostgreSQL would then read the primary key from its end, past everybody
#: else's messages, since it takes those of one person to be spread evenly over the table.
NEWEST_FIRST = models.F("id") * -1


class MessageQuerySet(GuardedQuerySet["Message"]):
    owner_field = "owner"


class Message(Guarded):
    """What somebody said, or the agent's answer. `owner`, `tenant` and `agent` are the conversation's, copied so that
    memory reads one index; `shared` is what the merged read asks for, kept true by the log."""

    class Role(models.TextChoices):
        USER = "user", _("person")
        ASSISTANT = "assistant", _("assistant")
        SYSTEM = "system", _("system")

    class Status(models.TextChoices):
        COMPLETE = "complete", _("complete")
        WRITING = "writing", _("being written")
        INTERRUPTED = "interrupted", _("interrupted")
        REDACTED = "redacted", _("deleted")
        REFUSED = "refused", _("refused by the model")

    class Steer(models.TextChoices):
        """What became of a message that arrived while a run was active."""

        NONE = "", _("no steer")
        ACCEPTED = "accepted", _("waiting")
        CONSUMED = "consumed", _("taken into the answer")
        PROMOTED = "promoted", _("answered next")
        EXPIRED = "expired", _("expired")

    class Author(models.TextChoices):
        USER = "user", _("person")
        AGENT = "agent", _("assistant")
        STAFF = "staff", _("staff")
        SYSTEM = "system", _("system")

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="messages", db_index=False, verbose_name=_("conversation")
    )
    # No constraint and no cascade of its own: the conversation's user is the same person and takes the rows along.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.DO_NOTHING,
        related_name="+",
        db_index=False,
        db_constraint=False,
        verbose_name=_("user"),
    )
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    agent = models.CharField(_("assistant"), max_length=64, default=DEFAULT_AGENT)
    seq = models.BigIntegerField(_("seq"))
    #: seq of the message that opened this turn: its own for a person's words, the trigger's for an answer
    turn = models.BigIntegerField(_("turn"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)
    author_kind = models.CharField(_("author kind"), max_length=10, choices=Author.choices)
    author_id = models.CharField(_("author"), max_length=255, blank=True, default="")
    text = models.TextField(_("text"), blank=True, default="")
    parts = models.JSONField(_("parts"), null=True, blank=True)
    shared = models.BooleanField(_("feeds memory"), default=True)
    status = models.CharField(_("status"), max_length=12, choices=Status.choices, default=Status.COMPLETE)
    steer = models.CharField(_("steer"), max_length=10, choices=Steer.choices, blank=True, default="")
    client_id = models.CharField(_("client id"), max_length=128, null=True, blank=True)
    client_hash = models.CharField(_("hash of the body"), max_length=64, blank=True, default="")
    run = models.ForeignKey(
        "crossmemory.Run",
        models.DO_NOTHING,
        null=True,
        blank=True,
        related_name="messages",
        db_index=False,
        db_constraint=False,
        verbose_name=_("reply"),
    )
    sent_at = models.DateTimeField(_("sent"), null=True, blank=True, help_text=_("By the platform's clock."))
    created_at = models.DateTimeField(_("stored"), default=timezone.now)

    objects = MessageQuerySet.as_manager()

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        permissions = [("read_text", _("Can read what people said"))]
        constraints = [
            models.UniqueConstraint(fields=["conversation", "seq"], name="crossmemory_message_place"),
            models.UniqueConstraint(
                fields=["conversation", "author_kind", "author_id", "client_id"],
                condition=models.Q(client_id__isnull=False),
                name="crossmemory_message_client_id",
            ),
        ]
        indexes = [
            models.Index(
                "owner",
                "tenant",
                "agent",
                NEWEST_FIRST,
                condition=models.Q(shared=True, status="complete"),
                name="crossmemory_message_newest",
            ),
            models.Index(
                "owner",
                "tenant",
                "agent",
                NEWEST_FIRST,
                condition=~models.Q(shared=True, status="complete"),
                name="crossmemory_message_apart",
            ),
            models.Index(
                fields=["conversation"], condition=models.Q(status="writing"), name="crossmemory_message_writing"
            ),
            models.Index(
                fields=["conversation"], condition=models.Q(steer="accepted"), name="crossmemory_message_steer"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_role_display()} #{self.seq}"


class MessageChunk(Guarded):
    """A stored piece of a message that is still being written; gone once the message is complete."""

    message = models.ForeignKey(Message, models.CASCADE, related_name="chunks", db_index=False)
    offset = models.BigIntegerField(_("offset"), help_text=_("Unicode code points before this piece."))
    text = models.TextField(_("text"))

    objects = GuardedQuerySet["MessageChunk"].as_manager()

    class Meta:
        verbose_name = _("piece being written")
        verbose_name_plural = _("pieces being written")
        constraints = [models.UniqueConstraint(fields=["message", "offset"], name="crossmemory_chunk_offset")]

    def __str__(self) -> str:
        return f"{self.message_id}+{self.offset}"


class MessageRevision(Guarded):
    """An earlier text of an edited message; it expires."""

    message = models.ForeignKey(Message, models.CASCADE, related_name="revisions")
    text = models.TextField(_("text"))
    created_at = models.DateTimeField(_("replaced"), default=timezone.now)
    expires_at = models.DateTimeField(_("expires"))

    objects = GuardedQuerySet["MessageRevision"].as_manager()

    class Meta:
        verbose_name = _("earlier text")
        verbose_name_plural = _("earlier texts")

    def __str__(self) -> str:
        return f"{self.message_id} @ {self.created_at}"
