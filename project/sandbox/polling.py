"""getUpdates: https://core.telegram.org/bots/api#getupdates

A waiting call holds no database connection: it looks, closes, and sleeps until a bell of this process rings or the
next look is due. The newest call wins; an older one is ended with 409, in whatever process it waits.
"""

import asyncio
import json
import uuid
from dataclasses import dataclass
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection
from django.db.models import Q

from . import wake
from .errors import ApiError
from .models import Bot, Update
from .params import Params

LOOK_EVERY = 0.1  # seconds
MAX_TIMEOUT = 50  # seconds, as the public server
CONFLICT = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"


@dataclass(frozen=True, slots=True)
class Poll:
    """One call of getUpdates."""

    bot_id: int
    name: str
    offset: int
    limit: int
    timeout: float
    allowed: list[str] | None


def read(bot: Bot, params: Params) -> Poll:
    limit = params.integer("limit", 100) or 100
    allowed = params.parsed("allowed_updates", list)
    return Poll(
        bot_id=bot.pk,
        name=uuid.uuid4().hex,
        offset=params.integer("offset", 0) or 0,
        limit=limit if 1 <= limit <= 100 else 100,
        timeout=min(max(params.integer("timeout", 0) or 0, 0), MAX_TIMEOUT),
        allowed=None if allowed is None else [str(kind) for kind in allowed],
    )


async def get_updates(poll: Poll) -> list[Any]:
    """Wait for updates, at most ``poll.timeout`` seconds. Raises ApiError 409 when another call takes over."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + poll.timeout
    with wake.bell(poll.bot_id) as bell:
        await sync_to_async(begin)(poll)
        while True:
            bell.clear()
            updates = await sync_to_async(look)(poll)
            left = deadline - loop.time()
            if updates or left <= 0:
                return updates
            try:
                await asyncio.wait_for(bell.wait(), min(LOOK_EVERY, left))
            except TimeoutError:
                continue


def begin(poll: Poll) -> None:
    """Take over from any older call and confirm what lies below the offset."""
    changes: dict[str, Any] = {"poller": poll.name, "called": True}
    if poll.allowed is not None:
        changes["allowed_updates"] = poll.allowed
    Bot.objects.filter(pk=poll.bot_id).update(**changes)
    wake.ring(poll.bot_id)
    waiting = Update.objects.filter(bot=poll.bot_id, confirmed=False)
    if poll.offset > 0:
        waiting.filter(Q(served=True) | Q(forced=False), update_id__lt=poll.offset).update(confirmed=True)
    elif poll.offset < 0:
        kept = waiting.order_by("-update_id", "-id").values_list("id", flat=True)[: -poll.offset]
        waiting.exclude(pk__in=list(kept)).update(confirmed=True)


def look(poll: Poll) -> list[Any]:
    """What waits now. Raises ApiError 409 when a newer call or a webhook took over."""
    try:
        bot = Bot.objects.get(pk=poll.bot_id)
        if bot.webhook_url:
            raise ApiError(
                409,
                "Conflict: can't use getUpdates method while webhook is active; "
                "use deleteWebhook to delete the webhook first",
            )
        if bot.poller != poll.name:
            raise ApiError(409, CONFLICT)
        waiting = bot.waiting()
        if poll.offset > 0:
            waiting = waiting.filter(Q(update_id__gte=poll.offset) | Q(forced=True, served=False))
        rows = list(waiting.order_by("update_id", "id").values_list("id", "payload")[: poll.limit])
        if rows:
            Update.objects.filter(pk__in=[pk for pk, _ in rows], served=False).update(served=True)
        return [json.loads(payload) for _, payload in rows]
    finally:
        if not connection.in_atomic_block:
            connection.close()
