"""The queue of updates of each bot."""

import json
from typing import Any

from django.db import transaction
from django.db.models import F

from . import wake, webhooks
from .formatting import storable
from .models import Bot, Update


def put(bot: Bot, body: dict[str, Any], *, times: int = 1) -> int:
    """Queue ``body`` (an Update object without its id) under the next id, ``times`` times; return the id."""
    with transaction.atomic():
        Bot.objects.filter(pk=bot.pk).update(next_update_id=F("next_update_id") + 1)
        update_id = Bot.objects.values_list("next_update_id", flat=True).get(pk=bot.pk) - 1
        _store(bot, update_id, body, times, forced=times > 1)
    return update_id


def put_as(bot: Bot, update_id: int, body: dict[str, Any], *, times: int = 1) -> None:
    """Queue ``body`` under an id that the caller chose, whether or not it was used before."""
    with transaction.atomic():
        Bot.objects.filter(pk=bot.pk, next_update_id__lte=update_id).update(next_update_id=update_id + 1)
        _store(bot, update_id, body, times, forced=True)


def _store(bot: Bot, update_id: int, body: dict[str, Any], times: int, *, forced: bool) -> None:
    rest = {key: value for key, value in body.items() if key != "update_id"}
    row = {
        "bot": bot,
        "update_id": update_id,
        "kind": storable(next(iter(rest), ""))[:64],
        "payload": json.dumps({"update_id": update_id, **rest}),
        "forced": forced,
    }
    Update.objects.bulk_create([Update(**row) for _ in range(times)])
    wake.ring(bot.pk)
    webhooks.bring(bot.pk)
