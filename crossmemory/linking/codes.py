"""One-time codes: made on the site by a signed-in person, sent from the outside account."""

import hashlib
import re
import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from crossmemory import db, permission
from crossmemory.clean import clean
from crossmemory.conf import settings
from crossmemory.exceptions import LinkError
from crossmemory.linking.errors import ExpiredCode, NotPrivate, TooManyGuesses, WrongCode
from crossmemory.linking.links import Status, links, pending
from crossmemory.linking.sharing import agent_of, checked
from crossmemory.models import InboundUpdate, LinkCode, Owner, Sharing, SurfaceLink

CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")  # https://core.telegram.org/bots/features#deep-linking
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # nothing that is mistaken for something else when typed
_CODE_LENGTH = 12  # 60 bits, for ten minutes
_GUESSES_OVERALL = 40  # times LINK_GUESSES: wrong codes per hour from everybody together

#: outcomes of incoming updates that count as guesses
GUESSES = (WrongCode.code, ExpiredCode.code)


def create_code(user: Any, surface: str, sharing: str = Sharing.BOTH) -> tuple[str, LinkCode]:
    """A fresh code for this person and surface; earlier ones are void. Only its hash is stored.

    Raises LinkError for an unknown way of sharing, or a surface whose accounts are not linked by code;
    AgentNotAllowed.
    """
    if surface not in settings.SURFACES:
        raise LinkError(f"There is no surface {surface!r}.")
    permission.check(user, agent_of(surface))
    owner = Owner.of(user, None)
    code = "".join(secrets.choice(_ALPHABET) for _ in range(_CODE_LENGTH))
    expires_at = timezone.now() + timedelta(minutes=settings.LINK_CODE_MINUTES)
    with transaction.atomic(using=db.write_alias(LinkCode)):
        _codes().filter(user=owner.user_id, tenant=owner.tenant, surface=surface).delete()
        row = LinkCode(
            user_id=owner.user_id,
            tenant=owner.tenant,
            surface=surface,
            sharing=checked(sharing),
            code_hash=_hash(code),
            expires_at=expires_at,
        )
        row.save(using=db.write_alias(LinkCode), force_insert=True)
    return code, row


def use_code(
    surface: str,
    account: str,
    code: str,
    sender: str,
    chat: str,
    name: str = "",
    language: str = "",
    *,
    private: bool = True,
) -> SurfaceLink:
    """The outside account `sender` sent a code: a pending link, which its person must confirm on the site.

    The code is consumed in the transaction that makes the link. Sending the same code again gives the same link.
    Raises NotPrivate, TooManyGuesses, WrongCode, ExpiredCode; nothing about any account is revealed.
    """
    if not private or not sender:
        raise NotPrivate
    if _guessed_too_often(surface, account, sender):
        raise TooManyGuesses
    found = _codes().filter(surface=surface, code_hash=_hash(code)).first() if CODE.fullmatch(code) else None
    if found is None:
        raise WrongCode
    owned = {"user_id": found.user_id, "tenant": found.tenant, "surface": surface, "account": account}
    with transaction.atomic(using=db.write_alias(SurfaceLink)):
        if not _codes().filter(pk=found.pk, used_at=None, expires_at__gt=Now()).update(used_at=Now()):
            if found.used_at is None:
                raise ExpiredCode
            earlier = pending().filter(external_id=sender, **owned).first()
            if earlier is None:
                raise WrongCode
            return earlier
        links().filter(status=Status.PENDING, **owned).update(status=Status.ENDED, ended_at=Now())
        link = SurfaceLink(
            **owned,
            external_id=sender,
            chat=chat,
            name=clean(name)[:200],
            language=clean(language)[:20],
            sharing=found.sharing,
        )
        link.save(using=db.write_alias(SurfaceLink), force_insert=True)
    return link


def _codes() -> QuerySet[LinkCode]:
    return LinkCode.objects.using(db.write_alias(LinkCode))


def _hash(code: str) -> str:
    return hashlib.sha256(code.encode()).hexdigest()


def _guessed_too_often(surface: str, account: str, sender: str) -> bool:
    guesses = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(
        surface=surface, account=account, outcome__in=GUESSES, received_at__gt=Now() - timedelta(hours=1)
    )
    return (
        guesses.filter(sender=sender).count() >= settings.LINK_GUESSES
        or guesses.count() >= settings.LINK_GUESSES * _GUESSES_OVERALL
    )
