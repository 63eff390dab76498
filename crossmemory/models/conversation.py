import secrets
import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.conf import surface_label
from crossmemory.models.owner import DEFAULT_AGENT, OwnedQuerySet


def new_epoch() -> str:
    """A fresh random value for a log whose history was rewritten; compared only for equality."""
    return secrets.token_urlsafe(9)


class ConversationQuerySet(OwnedQuerySet["Conversation"]):
    pass


class Conversation(models.Model):
    """One conversation and the counters of its log.

    The log keeps event 1 (the anchor) and the events `floor` to `head`; `head` is moved only by `crossmemory.log`, by
    the statement that locks this row.
    """

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    # Deleting a user erases everything first (crossmemory.erase), set by set: a cascade would load every row.
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.DO_NOTHING, related_name="+", db_index=False, verbose_name=_("user")
    )
    tenant = models.CharField(_("tenant"), max_length=100, blank=True, default="")
    agent = models.CharField(_("assistant"), max_length=64, default=DEFAULT_AGENT)
    surface = models.CharField(_("surface"), max_length=64)
    title = models.CharField(_("title"), max_length=200, blank=True, default="")
    singleton = models.BooleanField(
        _("singleton"), default=False, help_text=_("The one conversation of a secondary surface.")
    )
    shared = models.BooleanField(
        _("feeds memory"), default=True, help_text=_("What is said here is known in the person's other conversations.")
    )
    reads = models.BooleanField(
        _("reads memory"), default=True, help_text=_("The assistant knows here what was said in other conversations.")
    )
    #: said in front of others: it neither feeds memory nor reads it, whatever is set
    group_chat = models.BooleanField(_("in a group"), default=False, editable=False)
    #: what the person leaves out of memory here: {"surfaces": […], "conversations": [keys], "messages": [keys]}
    aside = models.JSONField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("created"), default=timezone.now)
    updated_at = models.DateTimeField(_("updated"), default=timezone.now)
    read_seq = models.BigIntegerField(_("read up to"), default=0)

    epoch = models.CharField(_("epoch"), max_length=16, default=new_epoch)
    head = models.BigIntegerField(_("head"), default=0)
    floor = models.BigIntegerField(_("floor"), default=2)
    #: why events below the floor went: "count" or "bytes"; empty while nothing did
    trimmed_by = models.CharField(max_length=10, blank=True, default="", editable=False)
    kept_events = models.BigIntegerField(_("kept events"), default=0)
    kept_bytes = models.BigIntegerField(_("kept bytes"), default=0)
    #: seq of the message whose queued run later messages join; NULL while none is queued
    queued_seq = models.BigIntegerField(null=True, blank=True, editable=False)
    #: seq of the message that the active run answers; what is said meanwhile is a steer; NULL while none is active
    active_seq = models.BigIntegerField(null=True, blank=True, editable=False)
    #: key of the newest message before the latest memory.boundary; memory here starts after it
    boundary = models.BigIntegerField(default=0, editable=False)

    objects = ConversationQuerySet.as_manager()

    class Meta:
        verbose_name = _("conversation")
        verbose_name_plural = _("conversations")
        constraints = [
            models.UniqueConstraint(
                fields=["user", "tenant", "agent", "surface"],
                condition=models.Q(singleton=True),
                name="crossmemory_one_singleton",
            ),
            models.CheckConstraint(
                condition=models.Q(group_chat=False) | models.Q(shared=False, reads=False),
                name="crossmemory_groups_are_apart",
            ),
        ]
        indexes = [
            models.Index(fields=["user", "tenant", "agent", "-updated_at"], name="crossmemory_conv_list"),
            models.Index(fields=["-updated_at"], name="crossmemory_conv_newest"),
        ]

    def __str__(self) -> str:
        return self.title or str(_("New chat"))

    @property
    def surface_label(self) -> str:
        """How people call the surface: its `label` option, or its alias."""
        return surface_label(self.surface)
