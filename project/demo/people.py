"""Who the demo knows, and which phone is whose."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import IntegrityError
from django.utils import timezone

from crossmemory.models import SurfaceLink
from crossmemory.surfaces import surfaces
from project.sandbox import bots, chats

TELEGRAM = "telegram"
PASSWORD = "demo"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who can sign in, and the id that Telegram knows them by (user and private chat alike)."""

    username: str
    name: str
    telegram_id: int
    staff: bool = False


ANA = Person("ana", "Ana", 5001)
STAFF = Person("staff", "Staff", 5002, staff=True)
PEOPLE = (ANA, STAFF)


def real_telegram() -> bool:
    """Is the bot on the real Telegram, where nobody's phone is ours?"""
    return settings.TELEGRAM_API_URL != settings.SANDBOX_URL


def make_user(person: Person) -> Any:
    """The person's account on the site; one that exists is left as it is."""
    users: Any = get_user_model()._default_manager
    found = users.filter(username=person.username).first()
    if found is None:
        values = {"first_name": person.name, "is_staff": person.staff, "is_superuser": person.staff}
        found = users.create_user(person.username, password=PASSWORD, **values)
    return found


def connect_phone(user: AbstractBaseUser, person: Person) -> None:
    """Link the person's account of the sandbox, as if they had used a code and confirmed it; once."""
    chats.open_private(bots.configured(), person.telegram_id, person.name)
    account = surfaces[TELEGRAM].account
    known = SurfaceLink.objects.filter(surface=TELEGRAM, account=account, user_id=user.pk)
    if known.exists():
        return
    link = SurfaceLink(
        user_id=user.pk,
        surface=TELEGRAM,
        account=account,
        external_id=str(person.telegram_id),
        chat=str(person.telegram_id),
        name=person.name,
        status=SurfaceLink.Status.ACTIVE,
        confirmed_at=timezone.now(),
    )
    try:
        link.save(force_insert=True)
    except IntegrityError:  # somebody else connected this account meanwhile: it stays theirs
        return


def phone_of(user: AbstractBaseUser) -> int:
    """The id of the phone that the page shows to this person: their linked one, else the one they could link."""
    account = surfaces[TELEGRAM].account
    active = SurfaceLink.objects.filter(
        surface=TELEGRAM, account=account, user_id=user.pk, status=SurfaceLink.Status.ACTIVE
    )
    linked = active.values_list("external_id", flat=True).first()
    if linked and linked.isdecimal():
        return int(linked)
    known = {person.username: person.telegram_id for person in PEOPLE}
    return known.get(user.get_username(), 600_000 + int(user.pk))
