"""The inbox: what came in, committed before the platform is told, and taken apart afterwards.

received → done, skipped, or dead after INBOX_MAX_ATTEMPTS. Rows of one sender are handled in order; a row that fails
holds back that sender only, and only until it is dead.
"""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import Case, CharField, Exists, F, OuterRef, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Concat, Now, Substr

from crossmemory import clock, db
from crossmemory.clean import clean
from crossmemory.conf import settings
from crossmemory.models import Conversation, Delivery, InboundUpdate, SurfaceLink

logger = logging.getLogger(__name__)

Status = InboundUpdate.Status
PLATFORM_KEEPS_HOURS = 24  # updates that nobody fetched: https://core.telegram.org/bots/api#getting-updates


@dataclass(frozen=True, slots=True)
class Incoming:
    """One update as it came, before the database has it. `sender` is only for order and caps, never an identity."""

    external_id: str
    kind: str
    raw: bytes
    sender: str = ""

    def row(self, surface: str, account: str) -> InboundUpdate:
        return InboundUpdate(
            surface=surface,
            account=account,
            external_id=clean(self.external_id)[:128],
            kind=clean(self.kind)[:64],
            sender=clean(self.sender)[:64],
            raw=self.raw,
        )


def _rows() -> QuerySet[InboundUpdate]:
    return InboundUpdate.objects.using(db.write_alias(InboundUpdate))


def store(surface: str, account: str, external_id: str, kind: str, raw: bytes, sender: str = "") -> bool:
    """Store one update; False when it is known already."""
    using = db.write_alias(InboundUpdate)
    row = Incoming(external_id, kind, raw, sender).row(surface, account)
    try:
        with transaction.atomic(using=using):
            row.save(using=using, force_insert=True)
    except IntegrityError:
        return False
    return True


def store_all(surface: str, account: str, batch: Sequence[Incoming], *, ids_return: bool = False) -> None:
    """Store a batch of updates; known ones are left as they are, and one that cannot be stored harms no other.

    `ids_return`: the platform may give an id to something else once it can no longer repeat it (PLATFORM_KEEPS_HOURS).
    Raises DatabaseError when none can be stored: then the platform must not be told that they arrived.
    """
    rows = [incoming.row(surface, account) for incoming in batch]
    try:
        with transaction.atomic(using=db.write_alias(InboundUpdate)):
            if ids_return and rows:
                _give_back(surface, account, [row.external_id for row in rows])
            _rows().bulk_create(rows, ignore_conflicts=True)
        return
    except DatabaseError as error:
        if len(rows) <= 1:
            raise
        logger.warning("%s: a batch of %d updates was not stored at once: %r", surface, len(rows), error)
    troubles = []
    for incoming in batch:
        try:
            store(surface, account, incoming.external_id, incoming.kind, incoming.raw, incoming.sender)
        except DatabaseError as error:
            troubles.append(error)
            logger.error("%s: update %s could not be stored: %r", surface, incoming.external_id, error)
    if len(troubles) == len(rows):
        raise troubles[0]


def _give_back(surface: str, account: str, ids: Sequence[str]) -> None:
    """Rows of so long ago that what comes under their id now is something else: that id is theirs no longer."""
    since = Now() - timedelta(hours=PLATFORM_KEEPS_HOURS)
    old = _rows().filter(surface=surface, account=account, external_id__in=ids, received_at__lt=since)
    old.update(external_id=Concat(Substr(F("external_id"), 1, 100), Value("~"), Cast("pk", CharField())))


def waiting(surface: str, account: str, limit: int) -> list[tuple[int, str, bool]]:
    """What waits to be handled, oldest first: key, sender, and whether its time has come."""
    mine = _rows().filter(surface=surface, account=account, status=Status.RECEIVED)
    due = Case(When(clock.due(2.0**settings.INBOX_MAX_ATTEMPTS), then=Value(True)), default=Value(False))
    return list(mine.annotate(due=due).order_by("pk").values_list("pk", "sender", "due")[:limit])


def rows(keys: Collection[int]) -> list[InboundUpdate]:
    """Those of these rows that still wait, oldest first."""
    return list(_rows().filter(pk__in=keys, status=Status.RECEIVED).order_by("pk"))


def claim(row: InboundUpdate) -> bool:
    """Lock a row inside the caller's transaction, as its first statement; False when it was handled meanwhile."""
    return bool(_rows().filter(pk=row.pk, status=Status.RECEIVED).update(finished_at=Now()))


def done(
    row: InboundUpdate,
    outcome: str = "",
    *,
    link: SurfaceLink | None = None,
    conversation: Conversation | None = None,
    message: int | None = None,
    about: str = "",
) -> None:
    """The row is handled: in the transaction of what it led to. `about` is the platform's name of the message."""
    row.message_id, row.about = message, clean(about)[:140]
    _finish(row, Status.DONE, outcome, link, conversation)


def skip(row: InboundUpdate, reason: str, *, link: SurfaceLink | None = None) -> None:
    """The row leads to nothing, and why."""
    _finish(row, Status.SKIPPED, reason, link, None)


def _finish(
    row: InboundUpdate, status: str, outcome: str, link: SurfaceLink | None, conversation: Conversation | None
) -> None:
    row.status, row.outcome, row.link, row.conversation = status, clean(outcome)[:64], link, conversation
    _rows().filter(pk=row.pk).update(
        status=status,
        outcome=row.outcome,
        link=link,
        conversation=conversation,
        message=row.message_id,
        about=row.about,
        finished_at=Now(),
        error="",
    )


def wait(row: InboundUpdate, seconds: float) -> None:
    """Leave a row for a moment: the rest of what it belongs to may be on its way. It holds back its sender only."""
    _rows().filter(pk=row.pk, status=Status.RECEIVED).update(not_before=clock.ahead(seconds))


def following(row: InboundUpdate, limit: int) -> list[InboundUpdate]:
    """What the same sender sent after this row and still waits, oldest first."""
    if not row.sender:
        return []
    mine = _rows().filter(surface=row.surface, account=row.account, status=Status.RECEIVED, sender=row.sender)
    return list(mine.filter(pk__gt=row.pk).order_by("pk")[:limit])


def pieces_of(surface: str, account: str, about: str, conversation: Conversation) -> list[InboundUpdate]:
    """The updates of which the message called `about` was made, oldest first: several for an album.

    Empty for a message that is not in this conversation.
    """
    named = _rows().filter(surface=surface, account=account, about=about, conversation=conversation.pk)
    message = named.exclude(message=None).order_by("-pk").values_list("message", flat=True).first() if about else None
    return list(_rows().filter(message=message).order_by("pk")) if message is not None else []


def conversation_at(surface: str, account: str, place: str, link: SurfaceLink) -> Conversation | None:
    """The conversation apart from all others in which this person spoke last at a place: a group, or a topic of it."""
    here = _rows().filter(surface=surface, account=account, about__startswith=f"{place}/", link=link.pk)
    found = here.filter(conversation__singleton=False).select_related("conversation").order_by("-pk").first()
    return found.conversation if found is not None else None


def follow(surface: str, account: str, chat: str, new: str) -> None:
    """A chat goes on under another id: what was said in it is known by the new one."""
    rows = _rows().filter(surface=surface, account=account)
    for mark in ("/", "#"):
        rows.filter(about__startswith=f"{chat}{mark}").update(
            about=Concat(Value(new), Substr(F("about"), len(chat) + 1))
        )


def retry(row: InboundUpdate, error: str) -> bool:
    """Handling failed: try again later, or park the row as dead. Returns whether it will be tried again."""
    row.attempts += 1
    dead = row.attempts >= settings.INBOX_MAX_ATTEMPTS
    if dead:
        logger.error("%s update %s needs attention: %s", row.surface, row.external_id, error.splitlines()[-1:])
    row.status = Status.DEAD if dead else Status.RECEIVED
    _rows().filter(pk=row.pk, status=Status.RECEIVED).update(
        status=row.status,
        attempts=row.attempts,
        error=clean(error)[-4000:],
        not_before=None if dead else clock.ahead(2.0 ** (row.attempts - 1)),
        finished_at=Now() if dead else None,
    )
    return not dead


def revive(rows: QuerySet[InboundUpdate]) -> int:
    """Put dead rows back into the queue."""
    return rows.filter(status=Status.DEAD).update(
        status=Status.RECEIVED, attempts=0, not_before=None, finished_at=None, error=""
    )


def clean_up() -> int:
    """Forget raw updates that are older than RAW_DAYS; returns how many rows changed or went.

    After UNLINKED_HOURS nothing is left of people who are not linked: no words, no name, nothing they were told. Their
    empty rows stay for as long as the platform may bring the same update again.
    """
    using = db.write_alias(InboundUpdate)
    rows = _rows().exclude(status=Status.RECEIVED)
    links = SurfaceLink.objects.using(using)
    linked = links.filter(
        surface=OuterRef("surface"),
        account=OuterRef("account"),
        external_id=OuterRef("sender"),
        status=SurfaceLink.Status.ACTIVE,
    )
    for_strangers = Now() - timedelta(hours=settings.UNLINKED_HOURS)
    notices = Delivery.objects.using(using).filter(
        message=None, conversation=None, inbound__isnull=False, created_at__lt=for_strangers
    )
    notices.exclude(status="sending").delete()
    never_confirmed = links.filter(confirmed_at=None, created_at__lt=for_strangers)
    never_confirmed.exclude(status=SurfaceLink.Status.ACTIVE).delete()
    nobodys = rows.filter(~Exists(linked), link=None, conversation=None, received_at__lt=for_strangers)
    may_come_again = Now() - timedelta(hours=PLATFORM_KEEPS_HOURS)
    gone, _each = nobodys.filter(received_at__lt=may_come_again).delete()
    expired = Q(pk__in=nobodys.values("pk")) | Q(received_at__lt=Now() - timedelta(days=settings.RAW_DAYS))
    return gone + rows.exclude(raw=b"", sender="").filter(expired).update(raw=b"", sender="")
