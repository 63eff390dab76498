"""The outbox: a ledger of what must go out, one row per piece. `crossmemory.dispatch` works through it.

pending → sending → sent, or back to pending (later), or unknown, failed, blocked, cancelled. A row is written in the
transaction of what it says. Every move is conditional on what the row was, so two workers never have the same row.
Just before it goes to the platform it is marked as handed over: what a dead worker had not come to hand over goes again
as if nothing had been. Lease time is the database's clock.
"""

import logging
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Now

from crossmemory import clock, db, log
from crossmemory.clean import clean, clean_json
from crossmemory.conf import settings
from crossmemory.events import SYSTEM, DeliveryFailed
from crossmemory.exceptions import Fenced
from crossmemory.log import Entry
from crossmemory.models import Conversation, Delivery, InboundUpdate, Message, SurfaceLink, ToolCall

logger = logging.getLogger(__name__)

LEASE_SECONDS = 30.0  # a piece whose worker is silent for longer is of unknown fate
_LONGEST_PAUSE = 1800.0  # seconds between two attempts, at most
_LONGEST_WAIT = 86_400.0  # seconds that a platform may ask for; then it is asked again

Status = Delivery.Status
#: about what nobody is working on, a person may decide: send again, or cancel
UNDECIDED = (Status.PENDING, Status.UNKNOWN, Status.FAILED)
_OPEN = (Status.PENDING, Status.SENDING)
_KEPT_BACK = "An earlier piece of this message could not be sent."

_bells: set[Callable[[], None]] = set()


def write(
    destination: Mapping[str, str],
    payloads: Sequence[Mapping[str, Any]],
    *,
    conversation: Conversation | None = None,
    message: Message | None = None,
    inbound: InboundUpdate | None = None,
    tool_call: ToolCall | None = None,
) -> None:
    """Put the pieces of one message or notice into the outbox, inside the caller's transaction; ring on commit.

    Writing the same message (or the notice that answers the same update, or the card of the same tool call) again
    changes nothing. A payload is `{"text": …, "entities"?: […], "plain"?: …, "proactive"?: true, "buttons"?: [[{"text",
    "data"}]], "edits"?: public id of the delivery whose text this takes}`; what is not proactive is an answer.
    """
    using = db.write_alias(Delivery)
    cleaned = [clean_json(dict(payload)) for payload in payloads]
    rows = Delivery.objects.using(using)
    if rows.queue(
        destination, cleaned, conversation=conversation, message=message, inbound=inbound, tool_call=tool_call
    ):
        transaction.on_commit(ring, using=using, robust=True)


def ring() -> None:
    """Wake the senders of this process; those of others look every second. Never raises, never waits."""
    for bell in list(_bells):
        try:
            bell()
        except RuntimeError:  # its event loop is closed
            _bells.discard(bell)


def listen(bell: Callable[[], None]) -> None:
    """Have `bell` called, from any thread, when something was written in this process."""
    _bells.add(bell)


def unlisten(bell: Callable[[], None]) -> None:
    _bells.discard(bell)


def _rows(surface: str, account: str) -> QuerySet[Delivery]:
    return Delivery.objects.using(db.write_alias(Delivery)).filter(surface=surface, account=account)


def claim(surface: str, account: str, worker: str, limit: int) -> list[Delivery]:
    """Take at most `limit` pieces that are due: of each chat the oldest open one, so pieces arrive in order."""
    rows = _rows(surface, account)
    before = rows.filter(chat=OuterRef("chat"), pk__lt=OuterRef("pk"), status__in=_OPEN)
    due = rows.filter(clock.due(_LONGEST_WAIT), ~Exists(before), status=Status.PENDING)
    taken = []
    for row in due.order_by("pk")[:limit]:
        moved = rows.filter(pk=row.pk, status=Status.PENDING).update(
            status=Status.SENDING,
            worker=worker,
            lease_until=clock.ahead(LEASE_SECONDS),
            handed_at=None,
            attempts=F("attempts") + 1,
        )
        if moved:
            row.status, row.worker, row.attempts = Status.SENDING, worker, row.attempts + 1
            taken.append(row)
    return taken


def claim_lost(surface: str, account: str, worker: str) -> list[Delivery]:
    """Take the pieces whose worker died while it had them. See `lost`."""
    rows = _rows(surface, account).filter(clock.lapsed(LEASE_SECONDS), status=Status.SENDING)
    taken = []
    for row in rows.order_by("pk")[:100]:
        if rows.filter(pk=row.pk, worker=row.worker).update(worker=worker, lease_until=clock.ahead(LEASE_SECONDS)):
            row.worker = worker
            taken.append(row)
    return taken


def waiting(surface: str, account: str) -> int:
    """How many pieces could go out now, or are on their way."""
    due = Q(status=Status.PENDING) & clock.due(_LONGEST_WAIT)
    return _rows(surface, account).filter(due | Q(status=Status.SENDING)).count()


def sent(row: Delivery, external_id: str, topic: str | None = None) -> None:
    """The platform has it. Raises Fenced.

    `topic` is where in the chat it landed instead of its own topic: that is closed or deleted, and what waits for it
    goes there too.
    """
    values: dict[str, Any] = {"status": Status.SENT, "external_id": external_id[:128], "sent_at": Now(), "error": ""}
    if topic is None or topic == row.topic:
        _move(row, **values)
        return
    with transaction.atomic(using=db.write_alias(Delivery)):
        _move(row, topic=topic, **values)
        waiting = _rows(row.surface, row.account).filter(chat=row.chat, topic=row.topic, status=Status.PENDING)
        waiting.update(topic=topic)


def again(row: Delivery, error: str, chat: str = "") -> None:
    """It did not arrive: try again later, or give up after DELIVERY_MAX_ATTEMPTS. `chat` is the new id of a chat
    that moved; what waits for the old one follows. Raises Fenced."""
    moved = bool(chat) and chat != row.chat
    if row.attempts >= settings.DELIVERY_MAX_ATTEMPTS and not moved:
        failed(row, error)
        return
    pause = 0 if moved else _pause(row.attempts)
    with transaction.atomic(using=db.write_alias(Delivery)):
        _move(row, status=Status.PENDING, not_before=clock.ahead(pause), error=_short(error), chat=chat or row.chat)
        if moved:
            _rows(row.surface, row.account).filter(chat=row.chat, status=Status.PENDING).update(chat=chat)


def limited(row: Delivery, seconds: float, error: str) -> None:
    """The platform asks to wait: the whole time is honoured, and it does not count as an attempt. Raises Fenced."""
    if seconds >= 300:
        logger.warning("%s asks to wait %.0f s before anything more is sent to a chat.", row.surface, seconds)
    _move(
        row,
        status=Status.PENDING,
        not_before=clock.ahead(min(seconds, _LONGEST_WAIT)),
        attempts=F("attempts") - 1,
        error=_short(error),
    )


def handed(row: Delivery) -> None:
    """It goes to the platform now. Raises Fenced: a worker that slept through its lease must not send it."""
    _while_mine(row, handed_at=Now(), lease_until=clock.ahead(LEASE_SECONDS))


def lost(row: Delivery) -> None:
    """Its worker ended before it knew: it goes again, unlabelled if it was not handed over. Raises Fenced."""
    if row.handed_at is not None:
        unknown(row, "The process that sent it ended before it knew.")
    else:
        _move(row, status=Status.PENDING, not_before=None, attempts=F("attempts") - 1)


def unknown(row: Delivery, error: str) -> None:
    """Nobody knows whether it arrived. An answer goes once more, labelled; what was already repeated, and what
    nobody asked for, waits for a person. Raises Fenced."""
    if row.repeated or row.payload.get("proactive"):
        _move(row, status=Status.UNKNOWN, error=_short(error))
    else:
        _move(row, status=Status.PENDING, repeated=True, not_before=None, error=_short(error))


def blocked(row: Delivery, error: str) -> None:
    """The person cannot be reached: nothing that waits for that chat is sent, and the link says so. Raises Fenced."""
    with transaction.atomic(using=db.write_alias(Delivery)):
        _mark(row.surface, row.account, row.chat, error)
        _tell(row, error)
        _move(row, status=Status.BLOCKED, error=_short(error))
        _hold_back(row.surface, row.account, row.chat, error)


def failed(row: Delivery, error: str) -> None:
    """It will never arrive; the web says so, and the rest of the message stays back. Raises Fenced."""
    with transaction.atomic(using=db.write_alias(Delivery)):
        _tell(row, error)
        _move(row, status=Status.FAILED, error=_short(error))
        if row.message_id is not None:
            rest = _rows(row.surface, row.account).filter(
                message=row.message_id, chat=row.chat, topic=row.topic, piece__gt=row.piece, status=Status.PENDING
            )
            rest.update(status=Status.CANCELLED, error=_KEPT_BACK)


@dataclass(frozen=True, slots=True)
class Revived:
    """What became of pieces that were to go again, in numbers of pieces."""

    again: int  # wait to be sent, with what a failed one had kept back
    disconnected: int  # stay as they are: the chat is not, or no longer, an account of that person


def revive(rows: QuerySet[Delivery]) -> Revived:
    """Send undecided pieces again; with a failed one, the later pieces of its message. Rings on commit.

    What may have arrived is labelled as a possible repeat. What was deleted (no payload) is not sent, nor what would
    go to an account that is no longer its person's; notices to people who are not linked are nobody's and may go.
    """
    using = db.write_alias(Delivery)
    rows = rows.using(using).order_by()
    undecided = rows.filter(status__in=UNDECIDED).exclude(payload={})
    wanted = Q(_reachable(using), status__in=UNDECIDED)
    same_message = {name: OuterRef(name) for name in ("message", "surface", "account", "chat", "topic")}
    failed_one = undecided.filter(wanted, status=Status.FAILED, piece__lt=OuterRef("piece"), **same_message)
    lost = Q(Exists(failed_one), status=Status.CANCELLED, error=_KEPT_BACK)
    others = Delivery.objects.using(using).filter(lost).exclude(pk__in=rows.values("pk"))
    disconnected = undecided.exclude(wanted).count()
    with transaction.atomic(using=using):
        # The others first: they are found by a failed piece.
        again = sum(_revive(each.exclude(payload={})) for each in (others, rows.filter(wanted | lost)))
        transaction.on_commit(ring, using=using, robust=True)
    return Revived(again, disconnected)


def _revive(rows: QuerySet[Delivery]) -> int:
    return rows.update(
        # First: on the right side of SET, `status` is still the old one.
        repeated=Case(When(Q(status=Status.UNKNOWN), then=Value(True)), default=F("repeated")),
        status=Status.PENDING,
        attempts=0,
        not_before=None,
        lease_until=None,
        worker="",
        error="",
    )


def _reachable(using: str) -> Q:
    """Pieces of nobody, and those whose person still has the chat's account."""
    links = SurfaceLink.objects.using(using).filter(
        user=Coalesce(OuterRef("conversation__user"), OuterRef("message__conversation__user")),
        tenant=Coalesce(OuterRef("conversation__tenant"), OuterRef("message__conversation__tenant")),
        surface=OuterRef("surface"),
        account=OuterRef("account"),
        chat=OuterRef("chat"),
        status=SurfaceLink.Status.ACTIVE,
    )
    return Q(conversation=None, message=None) | Q(Exists(links))


def block(surface: str, account: str, chat: str, error: str) -> None:
    """Mark a chat as unreachable: its link, and what waits for it. Nothing of it is deleted."""
    _mark(surface, account, chat, error)
    _hold_back(surface, account, chat, error)


def follow(surface: str, account: str, chat: str, new: str) -> None:
    """A chat goes on under another id: what waits for it goes there. Rings on commit."""
    using = db.write_alias(Delivery)
    if _rows(surface, account).filter(chat=chat, status=Status.PENDING).update(chat=new, not_before=None):
        transaction.on_commit(ring, using=using, robust=True)


def unreachable(row: Delivery) -> str:
    """Why the person of a piece's chat cannot be reached, if that is known; empty when nothing is."""
    links = SurfaceLink.of_chat(row.surface, row.account, row.chat)
    return links.exclude(unreachable="").values_list("unreachable", flat=True).first() or ""


def _mark(surface: str, account: str, chat: str, error: str) -> None:
    links = SurfaceLink.of_chat(surface, account, chat)
    links.update(unreachable=clean(error)[:200])


def _hold_back(surface: str, account: str, chat: str, error: str) -> None:
    _rows(surface, account).filter(chat=chat, status=Status.PENDING).update(status=Status.BLOCKED, error=_short(error))


def _tell(row: Delivery, error: str) -> None:
    """The log says that a message was not delivered."""
    message = row.message
    if message is None:
        return
    told = DeliveryFailed(message=str(message.uid), surface=row.surface, error=_short(error))
    log.append(message.conversation, [Entry(told, SYSTEM, message=message)])


def _move(row: Delivery, **values: Any) -> None:
    _while_mine(row, lease_until=None, **values)


def _while_mine(row: Delivery, **values: Any) -> None:
    mine = _rows(row.surface, row.account).filter(pk=row.pk, status=Status.SENDING, worker=row.worker)
    if not mine.update(**values):
        raise Fenced("Another worker decided about this piece meanwhile.")


def _pause(attempts: int) -> float:
    """Seconds before the next attempt: 1, 4, 16, … at most half an hour, and a little chance in it."""
    return float(min(4.0 ** (attempts - 1), _LONGEST_PAUSE) * random.uniform(0.8, 1.2))


def _short(error: str) -> str:
    return clean(error)[:1000]
