"""Writing what a run has to say although the database is away for a while."""

import asyncio
import logging
import time
from typing import Any

from django.db import DatabaseError, InterfaceError

from crossmemory.models import Run

logger = logging.getLogger(__name__)

DATABASE_GONE = (DatabaseError, InterfaceError)

_RETRY_SECONDS = 0.5  # between attempts
_STORE_SECONDS = 600  # how long a finished answer waits


async def stored(run: Run, write: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function that uses the database, again and again while that is away. Raises Fenced."""
    until = time.monotonic() + _STORE_SECONDS
    while True:
        try:
            return await write(*args, **kwargs)
        except DATABASE_GONE as error:
            if time.monotonic() > until:
                raise
            logger.warning("Run %s waits for the database: %r", run.uid, error)
            await asyncio.sleep(_RETRY_SECONDS)
