"""Albums: several updates, one message. What belongs together is found in the inbox, so a restart changes nothing."""

from collections.abc import Sequence
from datetime import datetime

from django.utils import timezone

from crossmemory import inbox
from crossmemory.conf import settings
from crossmemory.models import InboundUpdate
from crossmemory.surfaces import Inbound, surfaces

AT_MOST = 20  # pieces; Telegram's albums have ten


def rest_of(row: InboundUpdate, album: str) -> list[InboundUpdate]:
    """The other pieces of an album that have come so far and wait, oldest first."""
    parse = surfaces[row.surface].parse
    return [each for each in inbox.following(row, AT_MOST) if _piece(parse(bytes(each.raw)), album)]


def to_wait(rows: Sequence[InboundUpdate], since: datetime) -> float:
    """Seconds to wait for more pieces; 0 when it has been quiet for long enough, or went on for too long.

    `since` is when this process began to look: what came before that may have its rest still with the platform.
    """
    now, newest = timezone.now(), max(since, *(row.received_at for row in rows))
    oldest = max(since, rows[0].received_at)
    quiet = settings.QUIET_SECONDS - (now - newest).total_seconds()
    longest = settings.QUIET_MAX_SECONDS - (now - oldest).total_seconds()
    return max(0.0, min(quiet, longest))


def _piece(inbound: Inbound, album: str) -> bool:
    return inbound.kind == "text" and inbound.album == album
