import uuid
from typing import Any

from django.core.files.storage import Storage, storages
from django.db import models, transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from crossmemory.conf import settings
from crossmemory.models.conversation import Conversation
from crossmemory.models.message import Message
from crossmemory.models.owner import OwnedQuerySet


def storage() -> Storage:
    """Where files are kept: the STORAGES alias that the setting names."""
    return storages[settings.ATTACHMENT_STORAGE]


def place(attachment: "Attachment", filename: str) -> str:
    """Where a file stands in the storage. What the sender called it is no part of that: it cannot be guessed."""
    return f"crossmemory/{attachment.conversation.uid}/{attachment.uid}"


class AttachmentQuerySet(OwnedQuerySet["Attachment"]):
    owner_prefix = "conversation__"

    def forget(self) -> int:
        """Delete rows, and their files once that is committed; returns how many rows."""
        files = list(self.exclude(file="").values_list("file", flat=True))
        deleted = self.order_by()._raw_delete(self.db)

        def delete_files() -> None:
            for name in files:
                storage().delete(name)

        if files:
            transaction.on_commit(delete_files, using=self.db, robust=True)
        return deleted


class Attachment(models.Model):
    """A file of a message; until that is sent, of nobody but the person who uploaded it.

    `type` says how people call it: photo, audio, voice, video, video_note, animation, document or sticker.
    """

    uid = models.UUIDField(_("public id"), default=uuid.uuid4, unique=True, editable=False)
    conversation = models.ForeignKey(
        Conversation, models.CASCADE, related_name="attachments", verbose_name=_("conversation")
    )
    message = models.ForeignKey(
        Message, models.CASCADE, null=True, blank=True, related_name="attachments", verbose_name=_("message")
    )
    type = models.CharField(_("type"), max_length=20)
    file = models.FileField(_("file"), upload_to=place, storage=storage, max_length=255)
    name = models.CharField(_("name"), max_length=255, blank=True, default="")
    mime = models.CharField(_("media type"), max_length=127)
    bytes = models.BigIntegerField(_("bytes"))
    sha256 = models.CharField(_("SHA-256"), max_length=64)
    #: what else is known without opening it: width, height (pixels), seconds, emoji
    details = models.JSONField(_("details"), default=dict, blank=True)
    description = models.TextField(_("transcript or description"), blank=True, default="")
    created_at = models.DateTimeField(_("stored"), default=timezone.now)

    objects = AttachmentQuerySet.as_manager()

    class Meta:
        verbose_name = _("file")
        verbose_name_plural = _("files")
        indexes = [
            models.Index(
                fields=["created_at"], condition=models.Q(message__isnull=True), name="crossmemory_attachment_unsent"
            )
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.uid}"

    @property
    def words(self) -> str:
        """What stands for it where only text can stand, without brackets: `photo harbour.jpg`, `voice 0:04: Hi!`."""
        seconds = self.details.get("seconds")
        clock = f"{seconds // 60}:{seconds % 60:02}" if isinstance(seconds, int) else ""
        word = "file" if self.type == "document" else self.type.replace("_", " ")
        said = " ".join(f"{word} {self.name or clock}".split())
        return f"{said}: {self.description}" if self.description else said

    def part(self) -> dict[str, Any]:
        """What a message says about it: one of its `parts`."""
        known = {"name": self.name, "mime": self.mime, "bytes": self.bytes, "text": self.description, **self.details}
        return {
            "type": self.type,
            "attachment": str(self.uid),
            "words": self.words,
            **{key: value for key, value in known.items() if value not in ("", None)},
        }
