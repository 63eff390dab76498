"""The links themselves: whose they are, and which outside account they stand for."""

from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from crossmemory import db
from crossmemory.clean import clean
from crossmemory.linking.errors import NoSuchLink
from crossmemory.models import Owner, SurfaceLink

Status = SurfaceLink.Status

_PENDING_HOURS = 24  # how long a used code waits for its person to confirm


def accounts(user: Any) -> list[SurfaceLink]:
    """This person's connected accounts, and those that wait to be confirmed; oldest first."""
    fresh = Q(status=Status.PENDING, created_at__gt=_oldest_pending())
    mine = links().of(Owner.of(user, None))  # type: ignore[attr-defined]
    return list(mine.filter(fresh | Q(status=Status.ACTIVE)).order_by("pk"))


def active(surface: str, account: str, external_id: str) -> SurfaceLink | None:
    """The link that says whose outside account this is."""
    if not external_id:
        return None
    return links().filter(surface=surface, account=account, external_id=external_id, status=Status.ACTIVE).first()


def seen(link: SurfaceLink, chat: str = "", name: str = "") -> None:
    """The person wrote: they can be reached again, and this is how they call themselves now."""
    changed = {"unreachable": "", "chat": chat or link.chat, "name": clean(name)[:200] or link.name}
    if any(getattr(link, field) != value for field, value in changed.items()):
        links().filter(pk=link.pk).update(**changed)
        for field, value in changed.items():
            setattr(link, field, value)


def ended(person: Owner, surface: str, account: str) -> bool:
    """Whether this person was connected there and no longer is: then nothing more is said to them there."""
    mine = links().filter(user=person.user_id, tenant=person.tenant, surface=surface, account=account)
    statuses = set(mine.exclude(status=Status.PENDING).values_list("status", flat=True))
    return bool(statuses) and Status.ACTIVE not in statuses


def links() -> QuerySet[SurfaceLink]:
    """All links, where they are written."""
    return SurfaceLink.objects.using(db.write_alias(SurfaceLink))


def pending() -> QuerySet[SurfaceLink]:
    """Links that can still be confirmed."""
    return links().filter(status=Status.PENDING, created_at__gt=_oldest_pending())


def find(user: Any, link_uid: Any) -> SurfaceLink:
    """This person's link, pending or active. Raises NoSuchLink."""
    mine = links().of(Owner.of(user, None))  # type: ignore[attr-defined]
    link: SurfaceLink | None = mine.filter(uid=link_uid).exclude(status=Status.ENDED).first()
    if link is None:
        raise NoSuchLink
    return link


def set_approvals(user: Any, link_uid: Any, allowed: bool) -> None:
    """Whether the assistant may be given permission on a connected account. Raises NoSuchLink."""
    links().filter(pk=find(user, link_uid).pk).update(approvals=allowed)


def _oldest_pending() -> Any:
    return timezone.now() - timedelta(hours=_PENDING_HOURS)
