"""What a surface exchanges with its person's memory.

It stands in two places, the link and the surface's conversation, and is changed in both by `share` alone: whoever asks,
they never disagree.
"""

from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet

from crossmemory import db, log
from crossmemory.conf import settings, surface_label
from crossmemory.exceptions import LinkError
from crossmemory.linking.links import Status, find, links
from crossmemory.models import DEFAULT_AGENT, Conversation, Owner, Sharing, SurfaceLink
from crossmemory.models.conversation import ConversationQuerySet


def set_sharing(user: Any, link_uid: Any, sharing: str) -> SurfaceLink:
    """Change what a connected account exchanges with memory, with all that was said there.

    Of one that waits to be confirmed: what it will exchange. Raises NoSuchLink, LinkError.
    """
    link = find(user, link_uid)
    link.sharing = checked(sharing)
    with transaction.atomic(using=db.write_alias(SurfaceLink)):
        if not links().filter(pk=link.pk, status=Status.PENDING).update(sharing=link.sharing):
            share(_person(link), link.surface, link.sharing)
    return link


def set_exchange(conversation: Conversation, *, shared: bool | None = None, reads: bool | None = None) -> None:
    """Change whether a conversation feeds memory and reads it, with all that was said in it.

    None stays as it is, also when somebody changes it at the same time. The one of a surface can do what a connected
    account can (`Sharing`): what does not read does not feed either.
    """
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        if conversation.singleton:
            person = Owner(conversation.user_id, conversation.tenant, None)
            _active(person, conversation.surface).update(sharing=F("sharing"))  # locks, in the order of `share`
        Conversation.objects.using(using).filter(pk=conversation.pk).update(reads=F("reads"))
        conversation.refresh_from_db(using=using, fields=["shared", "reads"])
        shared = conversation.shared if shared is None else shared
        reads = conversation.reads if reads is None else reads
        if conversation.singleton:
            share(person, conversation.surface, sharing_of(shared=shared, reads=reads))
            conversation.refresh_from_db(using=using, fields=["shared", "reads"])
            return
        if shared != conversation.shared:
            log.set_shared(conversation, shared)
        if reads != conversation.reads:
            log.set_reads(conversation, reads)


def share(person: Owner, surface: str, sharing: str) -> None:
    """What this person's accounts on a surface exchange from now on: in their links and in their conversations."""
    flags = _flags(sharing)
    using = db.write_alias(Conversation)
    with transaction.atomic(using=using):
        _active(person, surface).update(sharing=sharing)
        for conversation in _singletons(person, surface).order_by("pk"):
            log.set_reads(conversation, flags["reads"])  # locks it: from here on `shared` is what it is
            conversation.refresh_from_db(using=using, fields=["shared"])
            if conversation.shared != flags["shared"]:
                log.set_shared(conversation, flags["shared"])


def sharing_of(*, shared: bool, reads: bool) -> str:
    """The way of sharing that comes nearest, and never gives away more than was asked for."""
    if not reads:
        return Sharing.SEPARATE.value
    return Sharing.BOTH.value if shared else Sharing.READS.value


def conversation_of(link: SurfaceLink) -> Conversation:
    """The one conversation of a link's person on its surface, made at first use."""
    found = existing_conversation(link)
    if found is not None:
        return found
    label = surface_label(link.surface)
    with transaction.atomic(using=db.write_alias(SurfaceLink)):
        links().filter(pk=link.pk).update(sharing=F("sharing"))  # locks it: sharing is not changed meanwhile
        link.refresh_from_db(using=db.write_alias(SurfaceLink), fields=["sharing"])
        return log.get_or_create_singleton(_owner(link), link.surface, f"[{label}]", **_flags(link.sharing))


def existing_conversation(link: SurfaceLink) -> Conversation | None:
    """The one conversation of a link's person on its surface, if there is one."""
    return _singletons(_owner(link), link.surface).first()


def would_be(owner: Owner, surface: str) -> Conversation:
    """A person's conversation on a surface, or what it would be: looking makes no rows."""
    found = _singletons(owner, surface).first()
    if found is not None:
        return found
    active = links().of(owner).filter(surface=surface, status=SurfaceLink.Status.ACTIVE)  # type: ignore[attr-defined]
    flags = _flags(active.values_list("sharing", flat=True).first() or Sharing.BOTH)
    agent = owner.agent or agent_of(surface)
    return Conversation(user_id=owner.user_id, tenant=owner.tenant, agent=agent, surface=surface, **flags)


def checked(value: str) -> str:
    """A way of sharing, as it is stored. Raises LinkError."""
    if value not in Sharing.values:
        raise LinkError(f"Sharing is one of {', '.join(Sharing.values)}, not {value!r}.")
    return str(value)


def _active(person: Owner, surface: str) -> QuerySet[SurfaceLink]:
    return links().filter(user=person.user_id, tenant=person.tenant, surface=surface, status=Status.ACTIVE)


def _flags(sharing: str) -> dict[str, bool]:
    return {"shared": sharing == Sharing.BOTH, "reads": sharing != Sharing.SEPARATE}


def _singletons(owner: Owner, surface: str) -> ConversationQuerySet:
    rows = Conversation.objects.using(db.write_alias(Conversation)).of(owner)
    return rows.filter(surface=surface, singleton=True)


def _person(link: SurfaceLink) -> Owner:
    return Owner(link.user_id, link.tenant, None)


def _owner(link: SurfaceLink) -> Owner:
    return Owner(link.user_id, link.tenant, agent_of(link.surface))


def agent_of(surface: str) -> str:
    """The agent that people talk to on a surface."""
    agent: str = settings.SURFACES.get(surface, {}).get("OPTIONS", {}).get("agent", DEFAULT_AGENT)
    return agent
