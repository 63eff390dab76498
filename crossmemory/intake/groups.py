"""Groups, where a surface's option lets us answer there: each person has a conversation of their own in each group
and topic, which neither feeds their memory nor reads it. What is said in public stays there."""

from crossmemory import inbox, log
from crossmemory.conf import settings, surface_label
from crossmemory.intake.case import Case
from crossmemory.models import DEFAULT_AGENT, Conversation, Owner, SurfaceLink
from crossmemory.surfaces.framing import named


def existing_conversation(case: Case, link: SurfaceLink) -> Conversation | None:
    """This person's conversation in the group that a case comes from, found by what they said there before."""
    return inbox.conversation_at(case.row.surface, case.row.account, case.inbound.place, link)


def new_conversation(case: Case, link: SurfaceLink) -> Conversation:
    """A conversation for this person in this group, apart from all their others."""
    options = settings.SURFACES.get(link.surface, {}).get("OPTIONS", {})
    owner = Owner(link.user_id, link.tenant, options.get("agent", DEFAULT_AGENT))
    title = f"{surface_label(link.surface)}: {named(case.inbound.title) or case.inbound.chat}"
    return log.create(owner, link.surface, title, group_chat=True, actor=case.person)
