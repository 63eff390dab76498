"""Fetching what people send: https://core.telegram.org/bots/api#getfile

The address of a file holds the token: it stays in here, and in no error.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crossmemory.conf import MIB, settings
from crossmemory.surfaces.base import FileTrouble, RemoteFile
from crossmemory.surfaces.telegram import client

if TYPE_CHECKING:
    from telegram import Bot

logger = logging.getLogger(__name__)

LARGEST = 20 * MIB  # what the public Bot API gives out
_TRIES = 2


async def fetch(bot: Bot, file: RemoteFile) -> bytes:
    """The content of a file. Raises FileTrouble; how long it may take is the caller's business."""
    from telegram.error import BadRequest, NetworkError, TelegramError

    most = min(LARGEST, settings.MAX_ATTACHMENT_BYTES)
    if file.bytes is not None and file.bytes > most:
        raise FileTrouble("too_large")
    for tries in range(1, _TRIES + 1):
        try:
            found = await bot.get_file(file.reference)
            if found.file_size is not None and found.file_size > most:
                raise FileTrouble("too_large")
            content = bytes(await found.download_as_bytearray())
        except BadRequest as error:
            raise FileTrouble("too_large" if "too big" in str(error).lower() else "failed") from None
        except NetworkError as error:
            _note(bot, error)
            if tries == _TRIES:
                raise FileTrouble("failed") from None
        except (TelegramError, RuntimeError, OSError) as error:
            _note(bot, error)
            raise FileTrouble("failed") from None
        else:
            if len(content) > most:
                raise FileTrouble("too_large")
            return content
    raise FileTrouble("failed")


def _note(bot: Bot, error: Exception) -> None:
    logger.warning("A file could not be fetched: %s", client.without(bot.token, repr(error)))
