"""/forget: erases exactly what it names, after a question that says how much that is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from crossmemory import db, erase, inbox
from crossmemory.conf import surface_label
from crossmemory.intake import asking
from crossmemory.models import Conversation, Delivery, InboundUpdate, Message, Owner

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

AT_MOST = 200  # messages that one command erases
_SHORTEST = 2  # characters of words to look for

_LAST = frozenset({"last", "último", "ultimo", "lo último", "lo ultimo"})
_ALL = frozenset({"all", "everything", "todo"})


@dataclass(frozen=True, slots=True)
class Named:
    """What a command names: `messages`, or the whole of what was said here."""

    messages: QuerySet[Message]
    everything: bool = False


def ask(case: Case) -> None:
    """/forget last, /forget all, /forget WORDS, or as an answer to a message: what would go, and shall it?"""
    assert case.conversation is not None
    found = _named(case, case.inbound.text.strip(), case.inbound.name_of(case.inbound.reply_to))
    if found is None:
        _explain(case)
        return
    keys = list(found.messages.values_list("pk", "conversation__surface")[: AT_MOST + 1])
    if not keys:
        case.tell(_("I find nothing like that: nothing was deleted."))
        inbox.done(case.row, "/forget", link=case.link, conversation=case.conversation)
    elif len(keys) > AT_MOST and not found.everything:
        case.tell(_("That is in more than %(count)d messages. Please name fewer words.") % {"count": AT_MOST})
        inbox.done(case.row, "/forget", link=case.link, conversation=case.conversation)
    elif found.everything:
        text = _("Shall I delete everything that was said here, my answers too? This cannot be undone.")
        asking.ask(case, "forget", text, [("yes", _("Yes, delete")), ("no", _("No"))])
    else:
        places = Counter(surface_label(surface) for _key, surface in keys)
        where = ", ".join(f"{label}: {count}" for label, count in sorted(places.items()))
        text = ngettext(
            "Shall I delete %(count)d message (%(where)s)? This cannot be undone.",
            "Shall I delete %(count)d messages (%(where)s)? This cannot be undone.",
            len(keys),
        )
        text %= {"count": len(keys), "where": where}
        asking.ask(case, "forget", text, [("yes", _("Yes, delete")), ("no", _("No"))])


def carry_out(case: Case, question: InboundUpdate, choice: str) -> None:
    """Erase what the question was about: what had been said when it was asked, and nothing later."""
    asked = case.surface.parse(bytes(question.raw))
    found = _named(case, asked.text.strip(), asked.name_of(asked.reply_to))
    stays = _("What stands in this chat on your phone stays there: you can delete it there yourself.")
    _forget_question(question)
    if found is not None and found.everything:
        assert case.conversation is not None
        conversation, case.conversation = case.conversation, None
        erase.conversation(conversation)
        case.tell(_("Deleted: everything that was said here.") + " " + stays)
        return
    messages = found.messages.filter(created_at__lte=question.finished_at)[:AT_MOST] if found is not None else ()
    rows = list(messages)
    for row in rows:
        erase.message(row, case.person)
    text = ngettext(
        "Deleted: %(count)d message, here and on the site.",
        "Deleted: %(count)d messages, here and on the site.",
        len(rows),
    )
    case.tell(text % {"count": len(rows)} + " " + stays)


def _named(case: Case, words: str, replied: str) -> Named | None:
    """What a command's words name; None when it names nothing."""
    assert case.conversation is not None
    conversation = case.conversation
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    kept = Message.objects.using(db.write_alias(Message)).of(owner).exclude(status__in=["writing", "redacted"])
    here = kept.filter(conversation=conversation.pk).order_by("pk")
    if words.lower() in _ALL:
        return Named(here, everything=True)
    if words.lower() in _LAST:
        newest = here.filter(role="user").order_by("-seq").first()
        return Named(here.filter(turn=newest.turn) if newest is not None else here.none())
    if len(words) >= _SHORTEST:
        return Named(kept.filter(text__icontains=words).order_by("pk"))
    if replied:
        return Named(here.filter(pk__in=_called(case, conversation, replied)))
    return None


def _called(case: Case, conversation: Conversation, about: str) -> list[int]:
    """Keys of the message that the platform calls so: the person's own, or one of ours."""
    row = case.row
    theirs = inbox.pieces_of(row.surface, row.account, about, conversation)
    if theirs and theirs[0].message_id is not None:
        return [theirs[0].message_id]
    place, _slash, external_id = about.rpartition("/")
    chat = place.partition("#")[0]
    ours = Delivery.objects.using(db.write_alias(Delivery)).filter(
        surface=row.surface, account=row.account, chat=chat, external_id=external_id, message__isnull=False
    )
    return list(ours.order_by("-pk").values_list("message", flat=True)[:1])


def _forget_question(question: InboundUpdate) -> None:
    """The words to forget stand in the command too."""
    using = db.write_alias(InboundUpdate)
    InboundUpdate.objects.using(using).filter(pk=question.pk).update(raw=b"")
    asked = Delivery.objects.using(using).filter(inbound=question.pk, message=None)
    asked.exclude(status__in=["pending", "sending"]).update(payload={})


def _explain(case: Case) -> None:
    forget = _("/forget")
    lines = [
        _("What shall I forget? I ask again before I delete anything."),
        f"{forget} {_('last')}" + " – " + _("your newest message and my answer"),
        f"{forget} Miso – " + _("every message that contains a word, here and on the site"),
        f"{forget} {_('all')}" + " – " + _("everything that was said here"),
        _("Or answer a message with %(forget)s.") % {"forget": forget},
    ]
    case.tell("\n".join(lines))
    inbox.done(case.row, "/forget", link=case.link, conversation=case.conversation)
