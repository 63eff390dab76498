"""What a phone sends beside words: kept here, described in messages, and given out by getFile.

https://core.telegram.org/bots/api#getfile
"""

import asyncio
import uuid
from typing import Any

from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from . import access, bots, faults
from .errors import ApiError, DoorError, bad_request
from .formatting import storable
from .models import Bot, Fault, StoredFile
from .params import Params

LARGEST = 20 * 1024 * 1024  # what getFile gives out; people may send more
MOST_SENT = 50 * 1024 * 1024  # what the sandbox keeps of one file
MOST = 10  # files of an album
_PICTURES = frozenset({"image/jpeg", "image/png", "image/webp"})
_SHOWN = _PICTURES | {"image/gif"}


def keep(bot: Bot, uploaded: "UploadedFile[bytes]") -> StoredFile:
    """Store a file that a phone sends. Raises DoorError."""
    size = uploaded.size or 0
    if not size:
        raise DoorError(f"{uploaded.name} is empty")
    if size > MOST_SENT:
        raise DoorError(f"{uploaded.name} is larger than {MOST_SENT // 1024**2} MB", 413)
    mime = (uploaded.content_type or "application/octet-stream").partition(";")[0].lower()[:100]
    row = StoredFile(
        bot=bot,
        file_id=f"sandbox-{uuid.uuid4().hex}",
        kind=kind_of(mime),
        name=str(storable(uploaded.name or "file"))[-100:],
        mime=mime,
        size=size,
        content=uploaded.read(),
    )
    row.save(force_insert=True)
    return row


def kind_of(mime: str) -> str:
    """The field of a Message in which such a file stands."""
    if mime in _PICTURES:
        return "photo"
    if mime in ("audio/ogg", "audio/webm"):
        return "voice"
    family = mime.partition("/")[0]
    return family if family in ("audio", "video") else "document"


def shape(row: StoredFile) -> dict[str, Any]:
    """The file as it stands in a Message."""
    about: dict[str, Any] = {"file_id": row.file_id, "file_unique_id": row.file_id[-16:], "file_size": row.size}
    match row.kind:
        case "photo":
            return {"photo": [about | {"width": 1280, "height": 960}]}
        case "voice" | "audio":
            return {row.kind: about | {"duration": 1, "mime_type": row.mime}}
        case "video":
            return {"video": about | {"width": 1280, "height": 720, "duration": 1, "mime_type": row.mime}}
    return {"document": about | {"file_name": row.name, "mime_type": row.mime}}


def get_file(bot: Bot, params: Params) -> Any:
    row = StoredFile.objects.defer("content").filter(bot=bot, file_id=params.text("file_id")).first()
    if row is None:
        raise bad_request("invalid file_id")
    if row.size > LARGEST:
        raise bad_request("file is too big")
    return {
        "file_id": row.file_id,
        "file_unique_id": row.file_id[-16:],
        "file_size": row.size,
        "file_path": f"{row.kind}s/{row.file_id}",
    }


async def download(request: HttpRequest, token: str, path: str) -> HttpResponseBase:
    """The content, for the bot that may have it: ``…/file/bot<token>/<file_path>``. Faults of method ``file`` apply."""
    if refused := access.refusal(request):
        return HttpResponse(refused[1], status=refused[0])
    try:
        bot = await sync_to_async(bots.from_token)(token)
    except ApiError as error:
        return HttpResponse(error.description, status=error.status)
    if fault := await sync_to_async(faults.take)("file", None):
        await asyncio.sleep(fault.delay)
        if fault.drop in (Fault.Drop.BEFORE, Fault.Drop.AFTER):
            return faults.dropped()
        if fault.status:
            return HttpResponse(status=fault.status)
    row = await StoredFile.objects.filter(bot=bot, file_id=path.rpartition("/")[2], size__lte=LARGEST).afirst()
    return HttpResponse(status=404) if row is None else HttpResponse(bytes(row.content), content_type=row.mime)


@require_GET
def shown(request: HttpRequest, file_id: str) -> HttpResponse:
    """The same for the phone page: pictures as such, everything else as a download."""
    row = None if access.refusal(request) else StoredFile.objects.filter(file_id=file_id).first()
    if row is None:
        return HttpResponse(status=404)
    picture = row.mime in _SHOWN
    response = HttpResponse(bytes(row.content), content_type=row.mime if picture else "application/octet-stream")
    response["X-Content-Type-Options"] = "nosniff"
    response["Content-Disposition"] = "inline" if picture else "attachment"
    response["Content-Security-Policy"] = "default-src 'none'; sandbox"
    return response
