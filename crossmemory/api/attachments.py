"""Files: uploaded before the message that takes them along, and read by the person they belong to."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import IO, Any

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_cache_control
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from crossmemory import attachments, db
from crossmemory.api import inputs
from crossmemory.api.base import ApiView
from crossmemory.api.places import find
from crossmemory.conf import KIB, settings
from crossmemory.exceptions import Invalid, NotFound, ReadOnlyHere
from crossmemory.models import Attachment

_CHUNK = 64 * KIB
_FORM = 16 * KIB  # bytes that a form adds to its file
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class AttachmentList(ApiView):
    """Where files of a conversation's next message go: one a request, as a form with the field `file`."""

    parser_classes = [MultiPartParser]

    @property
    def largest_body(self) -> int:
        return int(settings.MAX_ATTACHMENT_BYTES) + _FORM

    def post(self, request: Request, uid: str) -> Response:
        """Keep a file; `message.send` names it by its id. What is never sent is forgotten after UNSENT_HOURS."""
        conversation, file = self.attachable(uid), request.FILES.get("file")
        if not find(conversation.surface).primary:
            raise ReadOnlyHere
        if file is None:
            raise Invalid(_("The form has no file in the field “file”."))
        row = attachments.keep(conversation, file, name=file.name or "", mime=file.content_type or "")
        attachments.describe(row)
        url = reverse("crossmemory:attachment-detail", kwargs={"uid": str(row.uid)})
        return Response({**row.part(), "url": url}, status=201)


class AttachmentDetail(ApiView):
    """One file of the person who asks."""

    def get(self, request: Request, uid: str) -> HttpResponseBase:
        """The file, or the `Range` of it that is asked for. What is no picture, sound or video is a download."""
        row = self._attachment(uid)
        if request.headers.get("If-None-Match") == f'"{row.sha256}"':
            return self._headers(row, HttpResponse(status=304))
        start, end = _asked(request.headers.get("Range", ""), row.bytes)
        if start >= row.bytes:
            return HttpResponse(status=416, headers={"Content-Range": f"bytes */{row.bytes}"})
        whole = (start, end) == (0, row.bytes)
        try:
            content = row.file.open()
        except FileNotFoundError:
            raise NotFound from None
        content.seek(start)
        streams = _apieces if isinstance(request._request, ASGIRequest) else _pieces
        response = StreamingHttpResponse(streams(content, end - start), status=200 if whole else 206)
        response["Content-Length"] = str(end - start)
        if not whole:
            response["Content-Range"] = f"bytes {start}-{end - 1}/{row.bytes}"
        return self._headers(row, response)

    def delete(self, request: Request, uid: str) -> Response:
        """Forget a file that was not sent; a sent one goes with its message."""
        attachments.discard(self._attachment(uid))
        return Response(status=204)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        if response.has_header("ETag"):  # a browser may keep it, and asks each time whether it still may show it
            del response["Cache-Control"]
            patch_cache_control(response, private=True, no_cache=True)
        return response

    def _attachment(self, uid: str) -> Attachment:
        mine = Attachment.objects.using(db.write_alias(Attachment)).of(self.person)
        found = mine.filter(uid=inputs.public_id(uid)).first()
        if found is None:
            raise NotFound
        return found

    @staticmethod
    def _headers(row: Attachment, response: HttpResponseBase) -> HttpResponseBase:
        """A file is somebody's bytes: it is never a page of this site, whatever is in it."""
        response["ETag"] = f'"{row.sha256}"'
        response["Accept-Ranges"] = "bytes"
        response["Content-Type"] = row.mime if row.mime in attachments.SHOWN else attachments.UNKNOWN
        disposition = content_disposition_header(row.mime not in attachments.SHOWN, row.name or str(row.uid))
        response["Content-Disposition"] = disposition or "attachment"
        response["X-Content-Type-Options"] = "nosniff"
        response["Content-Security-Policy"] = "default-src 'none'; sandbox"
        return response


def _asked(header: str, size: int) -> tuple[int, int]:
    """First byte and end of one range; the whole for several, none, or nonsense (RFC 9110, 14.2)."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or found.groups() == ("", ""):
        return 0, size
    first, last = found.groups()
    if not first:  # the last so many bytes
        return max(0, size - int(last)), size
    end = min(size, int(last) + 1) if last else size
    return (int(first), end) if int(first) < end or int(first) >= size else (0, size)


def _pieces(content: IO[bytes], left: int) -> Iterator[bytes]:
    with content:
        while left > 0 and (piece := content.read(min(_CHUNK, left))):
            left -= len(piece)
            yield piece


async def _apieces(content: IO[bytes], left: int) -> AsyncIterator[bytes]:
    with content:
        while left > 0 and (piece := await db.run(content.read, min(_CHUNK, left))):
            left -= len(piece)
            yield piece
