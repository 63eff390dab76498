"""An outside account becomes somebody's when its person confirms it on the site, until it is disconnected."""

import logging
from typing import Any, Literal

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import db, permission
from crossmemory.exceptions import LinkError
from crossmemory.linking.errors import NoSuchLink
from crossmemory.linking.language import language_of, prefer
from crossmemory.linking.links import Status, find, links, pending
from crossmemory.linking.sharing import agent_of, conversation_of, existing_conversation, share
from crossmemory.models import Conversation, Delivery, Owner, Sharing, SurfaceLink

logger = logging.getLogger(__name__)


def confirm(user: Any, link_uid: Any) -> SurfaceLink:
    """The person says on the site that the outside account is theirs: from now on it is.

    The account's earlier link, and this person's earlier account on the surface, end with it; what was still to be
    sent to them is cancelled. Raises NoSuchLink, LinkError, AgentNotAllowed.
    """
    owner = Owner.of(user, None)
    link: SurfaceLink | None = pending().of(owner).filter(uid=link_uid).first()  # type: ignore[attr-defined]
    if link is None:
        raise NoSuchLink
    permission.check(user, agent_of(link.surface))
    try:
        with transaction.atomic(using=db.write_alias(SurfaceLink)):
            waiting = links().filter(pk=link.pk, status=Status.PENDING)
            if not waiting.update(confirmed_at=Now()):  # locks it: somebody else may say yes or no at the same time
                raise NoSuchLink
            link.refresh_from_db(using=db.write_alias(SurfaceLink))
            for earlier in _in_the_way(link):
                _end(earlier)
                if (earlier.user_id, earlier.tenant) != (link.user_id, link.tenant):
                    logger.warning(
                        "%s account %s was connected to user %s and is now connected to user %s.",
                        link.surface,
                        link.external_id,
                        earlier.user_id,
                        link.user_id,
                    )
            waiting.update(status=Status.ACTIVE, unreachable="")
            conversation = conversation_of(link)
            share(Owner(link.user_id, link.tenant, None), link.surface, link.sharing)
            prefer(link)
            _welcome(link, conversation)
    except IntegrityError as error:
        raise LinkError("This account is being connected elsewhere at this moment. Please try again.") from error
    link.refresh_from_db(using=db.write_alias(SurfaceLink))
    return link


def refuse(user: Any, link_uid: Any) -> None:
    """The person says that a pending account is not theirs. Raises NoSuchLink."""
    waiting = pending().of(Owner.of(user, None)).filter(uid=link_uid)  # type: ignore[attr-defined]
    if not waiting.update(status=Status.ENDED, ended_at=Now()):
        raise NoSuchLink


def unlink(user: Any, link_uid: Any, *, history: Literal["keep", "remove"] = "keep") -> Conversation | None:
    """End a link, pending or active, and cancel what was still to be sent there.

    With `remove`, returns the surface's conversation for the caller to erase (`crossmemory.intake.unlink` does both).
    Raises NoSuchLink, LinkError.
    """
    if history not in ("keep", "remove"):
        raise LinkError(f"history is 'keep' or 'remove', not {history!r}.")
    link = find(user, link_uid)
    with transaction.atomic(using=db.write_alias(SurfaceLink)):
        _end(link)
    return existing_conversation(link) if history == "remove" else None


def _in_the_way(link: SurfaceLink) -> list[SurfaceLink]:
    """Active links that a confirmed one replaces."""
    here = links().filter(surface=link.surface, account=link.account, status=Status.ACTIVE).exclude(pk=link.pk)
    return list(here.filter(Q(external_id=link.external_id) | Q(user=link.user_id, tenant=link.tenant)))


def _end(link: SurfaceLink) -> None:
    links().filter(pk=link.pk).update(status=Status.ENDED, ended_at=Now())
    theirs = Q(conversation__user=link.user_id) | Q(message__conversation__user=link.user_id)
    waiting = Delivery.objects.using(db.write_alias(Delivery)).filter(
        theirs, surface=link.surface, account=link.account, chat=link.chat, status=Delivery.Status.PENDING
    )
    keys = list(waiting.values_list("pk", flat=True))
    Delivery.objects.using(db.write_alias(Delivery)).filter(pk__in=keys, status=Delivery.Status.PENDING).update(
        status=Delivery.Status.CANCELLED, error="The account was disconnected."
    )


def _welcome(link: SurfaceLink, conversation: Conversation) -> None:
    """Tell the outside account that it is connected, and what crosses over."""
    with translation.override(language_of(link.language)):
        if link.sharing == Sharing.BOTH:
            text = _("Connected. What you tell me on the site I know here, and the other way round.")
        elif link.sharing == Sharing.READS:
            text = _("Connected. What you tell me on the site I know here; what you tell me here stays here.")
        else:
            text = _("Connected. What you tell me here and what you tell me on the site stay apart.")
    destination = {"surface": link.surface, "account": link.account, "chat": link.chat}
    payloads = [{"text": text, "proactive": True}]
    Delivery.objects.using(db.write_alias(Delivery)).queue(destination, payloads, conversation=conversation)
