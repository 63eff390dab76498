"""Fetching the files of a message before it enters the log. A file that does not come never holds the words back."""

import asyncio
import contextlib
import io
import logging
import threading
from collections.abc import Sequence
from typing import Any

from django.db import DatabaseError, InterfaceError, connections
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import attachments, db, linking
from crossmemory.conf import MIB, settings
from crossmemory.models import Attachment, Conversation, InboundUpdate, SurfaceLink
from crossmemory.surfaces import FileTrouble, Inbound, RemoteFile, Surface

logger = logging.getLogger(__name__)

FILE_SECONDS = 20.0  # for fetching one file
WAIT_SECONDS = 60.0  # for one's turn to fetch, before the message goes without
DESCRIBE_SECONDS = 60.0  # for what DESCRIBER does with it

_FETCHED_AT_ONCE = 12  # each may be held in memory as a whole
_STORED_AT_ONCE = 2  # a storage that hangs takes no more than these of the threads for the database
_DESCRIBED_AT_ONCE = 4

_DETAILS = ("seconds", "width", "height", "emoji")


class Fetcher:
    """Fetches, stores and has described, so much at the same time and no more. One for each event loop."""

    def __init__(self) -> None:
        self._fetching = asyncio.Semaphore(_FETCHED_AT_ONCE)
        self._storing = asyncio.Semaphore(_STORED_AT_ONCE)
        self._describing = asyncio.Semaphore(_DESCRIBED_AT_ONCE)

    async def fetch(
        self, surface: Surface, conversation: Conversation, inbound: Inbound
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """The parts of a message with its files stored; and what went wrong, for each file that is missing: "failed"
        or "too_large". Raises what the database raises when it is away."""
        parts = [dict(part) for part in inbound.parts or ()]
        troubles = []
        for file in inbound.files:
            try:
                row = await self._stored(surface, conversation, file, parts[file.part])
            except (DatabaseError, InterfaceError):
                raise
            except Exception as error:  # whatever a surface or a storage raises: the words go without the file
                code = "too_large" if getattr(error, "code", "") == "too_large" else "failed"
                if not isinstance(error, (FileTrouble, TimeoutError)):
                    logger.error("A file that came in was not kept: %r", error)
                parts[file.part] = _without(parts[file.part], code)
                troubles.append(code)
            else:
                await self._describe(row)
                parts[file.part] = row.part()
        return parts, troubles

    async def _stored(
        self, surface: Surface, conversation: Conversation, file: RemoteFile, part: dict[str, Any]
    ) -> Attachment:
        async with asyncio.timeout(WAIT_SECONDS):
            await self._fetching.acquire()
        try:
            async with asyncio.timeout(FILE_SECONDS):
                content = await surface.fetch(file)
            async with self._storing:
                return await attachments.akeep(
                    conversation,
                    io.BytesIO(content),
                    name=str(part.get("name") or (part.get("emoji") if part["type"] == "sticker" else "") or ""),
                    mime=str(part.get("mime") or ""),
                    type=str(part["type"]),
                    **{name: part[name] for name in _DETAILS if part.get(name) is not None},
                )
        finally:
            self._fetching.release()

    async def _describe(self, row: Attachment) -> None:
        if settings.DESCRIBER is None:
            return
        try:
            async with asyncio.timeout(DESCRIBE_SECONDS):
                await self._describing.acquire()
                said = await self._described(row)
        except TimeoutError:
            logger.warning("DESCRIBER took too long for the file %s.", row.uid)
        else:
            await attachments.anote_description(row, said)

    def _described(self, row: Attachment) -> asyncio.Future[str]:
        """What DESCRIBER says, from a thread that holds up neither others nor the end of the process."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[str] = loop.create_future()

        def tell(said: str) -> None:
            self._describing.release()
            if not future.done():
                future.set_result(said)

        def ask() -> None:
            said = attachments.described(row)
            connections.close_all()  # should DESCRIBER use the database: this is no thread of the app's for that
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, said)

        threading.Thread(target=ask, name="crossmemory-describe", daemon=True).start()
        return future


def where(row: InboundUpdate, inbound: Inbound) -> tuple[SurfaceLink, Conversation] | None:
    """Whose file it is and where it goes; None for people who are not linked: theirs are never fetched."""
    link = linking.active(row.surface, row.account, inbound.sender)
    if link is None or not inbound.private:
        return None
    return link, linking.conversation_of(link)


def notice(link: SurfaceLink, troubles: Sequence[str]) -> str:
    """What the person is told about files that did not come."""
    with translation.override(linking.language_of(link.language)):
        if "failed" not in troubles:
            most = min(settings.MAX_ATTACHMENT_BYTES, 20 * MIB) // MIB
            return _("A file is larger than the %(most)d MB that I can fetch: I go on without it.") % {"most": most}
        return _("I could not fetch a file: I go on without it. You can send it again.")


def _without(part: dict[str, Any], code: str) -> dict[str, Any]:
    """The part stays without its file, and says so."""
    why = "too large to fetch" if code == "too_large" else "not fetched"
    return {**part, "missing": code, "words": f"{part['words']}, {why}"}


awhere = db.twin(where)
