"""Files that people send: kept in the site's storage, shown to nobody else, and gone with what they belong to."""

import hashlib
import logging
import uuid
from collections.abc import Collection, Sequence
from datetime import timedelta
from pathlib import PurePath
from typing import IO, Any

import filetype
import imagesize
from django.core.files import File
from django.utils import timezone
from django.utils.translation import gettext as _

from crossmemory import db
from crossmemory.clean import clean
from crossmemory.conf import MIB, settings
from crossmemory.exceptions import AttachmentError, EmptyFile, FileTooLarge, Invalid, TooManyFiles
from crossmemory.models import Attachment, Conversation
from crossmemory.models.attachment import AttachmentQuerySet

logger = logging.getLogger(__name__)

#: what browsers may show in place; everything else is downloaded, since a page in disguise would run as the site
SHOWN = frozenset(
    {
        "image/jpeg",
        "image/png",
        "image/gif",
        "image/webp",
        "image/avif",
        "audio/mpeg",
        "audio/ogg",
        "audio/mp4",
        "audio/aac",
        "audio/x-wav",
        "audio/wav",
        "audio/x-flac",
        "audio/webm",
        "video/mp4",
        "video/webm",
        "video/quicktime",
    }
)
UNKNOWN = "application/octet-stream"

_TYPES = {"image": "photo", "audio": "audio", "video": "video"}
_UNSENT = 50  # files that one conversation may hold without having sent them
_PIXELS = 8000  # width or height of an image, at most: Anthropic refuses larger ones
_HEAD = 8192  # bytes that tell what a file is


def keep(
    conversation: Conversation,
    content: IO[bytes],
    *,
    name: str = "",
    mime: str = "",
    type: str = "",
    **details: Any,
) -> Attachment:
    """Store a file for a message that will be sent in `conversation`; it waits UNSENT_HOURS for that.

    What it is, is told by its first bytes; `mime` (what the sender says) counts only where those say nothing, and
    then it is never shown in place. `type` is how the surface calls it (voice, sticker, …).

    Raises FileTooLarge (MAX_ATTACHMENT_BYTES), EmptyFile, TooManyFiles, OSError of the storage.
    """
    size, digest = _measure(content)
    unsent = _rows().filter(conversation=conversation.pk, message=None).count()
    if unsent >= _UNSENT:
        raise TooManyFiles(_("Too many files wait to be sent here: send or remove some first."))
    head = content.read(_HEAD)
    content.seek(0)
    found = filetype.guess_mime(head)
    row = Attachment(
        conversation=conversation,
        type=type or _TYPES.get((found or "").partition("/")[0], "document"),
        name=_name(name),
        mime=found or (UNKNOWN if mime in SHOWN else clean(mime)[:127] or UNKNOWN),
        bytes=size,
        sha256=digest,
        details={**_pixels(content, found), **{key: value for key, value in details.items() if value is not None}},
    )
    row.file.save("", File(content), save=False)
    try:
        row.save(using=db.write_alias(Attachment), force_insert=True)
    except Exception:
        row.file.delete(save=False)
        raise
    return row


akeep = db.twin(keep)


def named(parts: Sequence[Any] | None) -> list[str]:
    """The ids of the files that parts name, in order."""
    return [str(part["attachment"]) for part in parts or () if isinstance(part, dict) and "attachment" in part]


def completed(conversation: Conversation, parts: Sequence[Any] | None) -> list[Any] | None:
    """Parts as they are stored: each that names a file (`{"attachment": id}`) says what is known about it.

    Raises AttachmentError for a file that is not of this conversation, TooManyFiles.
    """
    ids = named(parts)
    if parts is None or not ids:
        return None if parts is None else list(parts)
    if len(ids) > settings.MAX_ATTACHMENTS:
        raise TooManyFiles(_("A message has at most %(most)d files.") % {"most": settings.MAX_ATTACHMENTS})
    rows = {str(row.uid): row for row in _rows().filter(conversation=conversation.pk, uid__in=_ids(ids))}
    if len(rows) != len(set(ids)) or len(set(ids)) != len(ids):
        raise AttachmentError
    return [rows[each[0]].part() if (each := named([part])) else part for part in parts]


def take(message: int, parts: Sequence[Any] | None) -> None:
    """The files of these (completed) parts belong to this message from now on; inside the transaction that stores it.

    Raises AttachmentError when one belongs to another message already.
    """
    ids = named(parts)
    if ids and _rows().filter(uid__in=ids, message=None).update(message=message) != len(ids):
        raise AttachmentError


def replace(message: int, parts: Sequence[Any]) -> None:
    """These (completed) parts are the message's from now on: new files become its own, others are forgotten."""
    ids = named(parts)
    _rows().filter(uid__in=ids, message=None).update(message=message)
    _rows().filter(message=message).exclude(uid__in=ids).forget()


def asked(parts: Any) -> list[dict[str, str]] | None:
    """The `parts` that a client sent, of which only the files' ids count. Raises AttachmentError, Invalid."""
    if parts is None or parts == []:
        return None
    if not isinstance(parts, list) or not all(
        isinstance(part, dict) and isinstance(part.get("attachment"), str) for part in parts
    ):
        raise Invalid(_("parts is a list of objects that name an attachment."))
    return [{"attachment": part["attachment"].lower()} for part in parts]


def worded(parts: Sequence[Any] | None, text: str) -> str:
    """`text` with a bracketed word for each file before it, so that a message of files is never empty."""
    words = [f"[{part['words']}]" for part in parts or () if isinstance(part, dict) and part.get("words")]
    return " ".join([*words, text] if text.strip() else words)


def expire() -> int:
    """Forget files that were uploaded and never sent; returns how many."""
    since = timezone.now() - timedelta(hours=settings.UNSENT_HOURS)
    return _rows().filter(message=None, created_at__lt=since).forget()


def discard(attachment: Attachment) -> None:
    """Forget one that was not sent. Raises AttachmentError when it was."""
    if not _rows().filter(pk=attachment.pk, message=None).forget():
        raise AttachmentError


def describe(attachment: Attachment) -> None:
    """Have DESCRIBER say what is in a file. Without it, or when it fails, the file goes without."""
    note_description(attachment, described(attachment))


def described(attachment: Attachment) -> str:
    """What DESCRIBER says about a file: the words of a recording, what a picture shows; empty when it says nothing. It
    may take long, and nothing here uses the database."""
    if settings.DESCRIBER is None:
        return ""
    try:
        with attachment.file.open() as content:
            said = settings.imported("DESCRIBER")(content, attachment.mime, attachment.type)
    except Exception:
        logger.exception("DESCRIBER failed for the file %s.", attachment.uid)
        return ""
    return clean(said or "").strip()


def note_description(attachment: Attachment, said: str) -> None:
    """Keep what was said about a file."""
    if said:
        attachment.description = said
        _rows().filter(pk=attachment.pk).update(description=said)


anote_description = db.twin(note_description)


def pictures(conversation: int, messages: Sequence[int], most: int, most_bytes: int) -> list[tuple[Attachment, bytes]]:
    """The newest images of messages (keys), at most `most`, each with its content; in the order they were sent.

    Without those larger than `most_bytes` or than any model takes, those a model's provider refused, and those that
    the storage does not give back: they stay the words that stand for them.
    """
    rows = _rows().filter(conversation=conversation, message__in=messages, mime__startswith="image/")
    found: list[tuple[Attachment, bytes]] = []
    for row in rows.filter(bytes__lte=most_bytes).order_by("-message", "-pk")[: 2 * most]:
        pixels = max(row.details.get("width", 0), row.details.get("height", 0))
        if len(found) == most or row.details.get("refused") or pixels > _PIXELS:
            continue
        try:
            with row.file.open() as content:
                found.append((row, content.read()))
        except OSError as error:
            logger.warning("The file %s cannot be read: %r", row.uid, error)
    return found[::-1]


apictures = db.twin(pictures)


def refuse(conversation: int, ids: Collection[str]) -> None:
    """Files that a model's provider does not accept: they are not sent to it again."""
    for row in _rows().filter(conversation=conversation, uid__in=list(ids)):
        row.details["refused"] = True
        row.save(update_fields=["details"])


arefuse = db.twin(refuse)


def _rows() -> AttachmentQuerySet:
    return Attachment.objects.using(db.write_alias(Attachment))


def _measure(content: IO[bytes]) -> tuple[int, str]:
    """Bytes and SHA-256 of a file, which is then at its beginning again."""
    most, size, digest = settings.MAX_ATTACHMENT_BYTES, 0, hashlib.sha256()
    while chunk := content.read(MIB):
        size += len(chunk)
        if size > most:
            raise FileTooLarge(_("The file is too large: %(most)d MB at most.") % {"most": most // MIB})
        digest.update(chunk)
    if not size:
        raise EmptyFile
    content.seek(0)
    return size, digest.hexdigest()


def _pixels(content: IO[bytes], mime: str | None) -> dict[str, int]:
    """Width and height of an image, so that a page can keep its place free; nothing when they cannot be told."""
    if mime is None or not mime.startswith("image/"):
        return {}
    try:
        width, height = imagesize.get(content)
    except Exception as error:  # whatever a broken file makes the library raise
        logger.info("The size of an image cannot be told: %r", error)
        width = height = -1
    content.seek(0)
    return {"width": int(width), "height": int(height)} if width > 0 and height > 0 else {}


def _name(name: str) -> str:
    """The last part of a path, without control characters, at most 255 characters and with its ending."""
    name = "".join(each for each in clean(name).replace("\\", "/").rpartition("/")[2] if each.isprintable()).strip()
    if len(name) > 255:
        ending = PurePath(name).suffix[:20]
        name = name[: 255 - len(ending)] + ending
    return name


def _ids(texts: Sequence[str]) -> list[str]:
    """What names them in the database. Raises AttachmentError for what is no id."""
    try:
        return [str(uuid.UUID(each)) for each in texts]
    except ValueError:
        raise AttachmentError from None


__all__ = [
    "SHOWN",
    "akeep",
    "anote_description",
    "apictures",
    "arefuse",
    "asked",
    "completed",
    "describe",
    "described",
    "discard",
    "expire",
    "keep",
    "note_description",
    "pictures",
    "refuse",
    "replace",
    "take",
    "worded",
]
