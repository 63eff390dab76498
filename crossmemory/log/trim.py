"""Trimming: the log is bounded by count and bytes. Dropping events drops no message: the message table keeps them."""

import json

from django.db import transaction
from django.db.models import Count, F, Max, Min, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from crossmemory import db
from crossmemory.conf import settings
from crossmemory.events import ConversationRenamed
from crossmemory.log.entries import size
from crossmemory.models import Conversation, Event, Run
from crossmemory.models.guard import log_writes

_TARGET = 0.9  # trimming leaves this part of the bounds, so that it does not come again with the next event


def trim(conversation_id: int) -> int:
    """Drop the oldest whole turns of a log that is over its bounds; returns how many events went.

    Event 1 stays, and the turn of a run that is open is never cut. In a transaction of its own.
    """
    using = db.write_alias(Conversation)
    over = Q(kept_events__gt=settings.LOG_MAX_EVENTS) | Q(kept_bytes__gt=settings.LOG_MAX_BYTES)
    rows = Conversation.objects.using(using).filter(over, pk=conversation_id)
    if not rows.exists():
        return 0
    with transaction.atomic(using=using), log_writes():
        if not rows.update(floor=F("floor")):  # takes the row's lock; somebody else may have trimmed meanwhile
            return 0
        too_many = rows.filter(kept_events__gt=settings.LOG_MAX_EVENTS).exists()
        floor = _floor(conversation_id, using)
        events = Event.objects.using(using).filter(conversation=conversation_id)
        _keep_title(events, floor)
        dropped, _ = events.filter(seq__gt=1, seq__lt=floor).delete()
        kept = events.aggregate(events=Count("pk"), bytes=Coalesce(Sum("bytes"), 0))
        Conversation.objects.using(using).filter(pk=conversation_id).update(
            floor=floor,
            trimmed_by="count" if too_many else "bytes",
            kept_events=kept["events"],
            kept_bytes=kept["bytes"],
        )
    return dropped


def _keep_title(events: QuerySet[Event], floor: int) -> None:
    """The anchor takes the title from the newest rename that is about to go: a replay starts with it."""
    renamed = events.filter(seq__lt=floor, type=ConversationRenamed.type).order_by("-seq").first()
    anchor = events.filter(seq=1).first()
    if renamed is None or anchor is None:
        return
    body = json.loads(anchor.body)
    body["data"]["title"] = json.loads(renamed.body)["data"]["title"]
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    events.filter(seq=1).update(body=text, bytes=size(text))


def _floor(conversation_id: int, using: str) -> int:
    """The lowest seq to keep: a turn's start, within the bounds, not after the start of an open run's turn."""
    events = Event.objects.using(using).filter(conversation=conversation_id)
    most_events, most_bytes = settings.LOG_MAX_EVENTS * _TARGET, settings.LOG_MAX_BYTES * _TARGET
    kept_events = 1  # the anchor
    kept_bytes = events.filter(seq=1).values_list("bytes", flat=True).first() or 0
    floor: int | None = None
    newest_first = events.filter(seq__gt=1).order_by("-seq").values_list("seq", "opens_turn", "bytes")
    for seq, opens_turn, length in newest_first.iterator():
        kept_events, kept_bytes = kept_events + 1, kept_bytes + length
        if kept_events > most_events or kept_bytes > most_bytes:
            break
        if opens_turn:
            floor = seq
    if floor is None:  # one turn alone is over the bounds: it stays
        floor = events.filter(opens_turn=True).aggregate(newest=Max("seq"))["newest"] or 2
    open_runs = Run.objects.using(using).filter(
        conversation=conversation_id, status__in=["queued", "running", "awaiting_approval"]
    )
    oldest_trigger = open_runs.aggregate(oldest=Min("trigger"))["oldest"]
    if oldest_trigger is None or oldest_trigger >= floor:
        return floor
    # A steer that is answered next stands inside the turn in which it was said: that one stays whole.
    before = events.filter(seq__gt=1, seq__lte=oldest_trigger)
    start = before.filter(opens_turn=True).aggregate(newest=Max("seq"))["newest"]
    return start or before.aggregate(oldest=Min("seq"))["oldest"] or 2
