"""Questions that a command asks before it does something: answered by a button, or by typing a word.

A question is the row of the command that asked it, whose outcome ends in `?` while it is open; so it survives restarts,
is answered once, and only by who was asked.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from django.db.models import QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from crossmemory import db, inbox, outbox
from crossmemory.models import Delivery, InboundUpdate, SurfaceLink

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

OPEN_MINUTES = 60
DATA = "ask"  # what the data of these buttons begins with

#: what people type for each choice, in any language they may have
WORDS: dict[str, frozenset[str]] = {
    "yes": frozenset({"yes", "y", "ok", "si", "s", "vale", "claro"}),
    "here": frozenset({"here", "only here", "aqui", "solo aqui"}),
    "everywhere": frozenset({"everywhere", "en todas partes", "todas partes"}),
    "keep": frozenset({"keep", "conservar", "guardar"}),
    "remove": frozenset({"remove", "delete", "borrar", "eliminar", "quitar"}),
    "no": frozenset({"no", "n", "cancel", "cancelar"}),
}
_LONGEST_WORD = max(len(word) for words in WORDS.values() for word in words)

#: carries out an answer: (case of the answer, row of the question, choice); tells the person
Answer = Callable[["Case", InboundUpdate, str], None]


@dataclass(frozen=True, slots=True)
class Question:
    """What can be chosen, and what carries it out. `no` changes nothing."""

    choices: Sequence[str]
    answer: Answer


#: by the command that asks
QUESTIONS: dict[str, Question] = {}


def ask(case: Case, name: str, text: str, choices: Sequence[tuple[str, str]]) -> None:
    """Ask, and leave the question open. `choices`: what is chosen, and what stands on its button."""
    assert case.link is not None
    how = _("Press a button, or write %(words)s.") % {
        "words": " / ".join(f"“{_typed(choice)}”" for choice, _l in choices)
    }
    case.tell(f"{text}\n\n{how}", [[(label, f"{DATA}:{case.row.pk}:{choice}")] for choice, label in choices])
    inbox.done(case.row, f"/{name}?", link=case.link, conversation=case.conversation)


def answered(case: Case) -> bool:
    """Whether a message is the answer to the question asked just before; then it was carried out."""
    choices = _meant(case.inbound.text) if not case.inbound.parts else []
    if not choices or case.link is None or not case.inbound.private:
        return False
    question = _just_asked(case)
    choice = next((each for each in choices if question and each in choices_of(question)), None)
    if question is None or choice is None:
        return False
    case.conversation = question.conversation
    _carry_out(case, case.link, question, choice)
    return True


def pressed(case: Case, data: str) -> None:
    """A button below a question: `data` is the question's key and the choice."""
    key, _colon, choice = data.partition(":")
    question = None
    if case.link is not None and key.isdecimal() and len(key) < 19:
        question = _open(case).filter(pk=int(key)).first()
    if question is None or case.link is None or choice not in choices_of(question):
        case.tell(_("This question is no longer open."))
        inbox.done(case.row, "late answer", link=case.link)
        return
    case.conversation = question.conversation
    _carry_out(case, case.link, question, choice)


def choices_of(question: InboundUpdate) -> Sequence[str]:
    """What can be answered to an open question."""
    return QUESTIONS[question.outcome.strip("/?")].choices


def _carry_out(case: Case, link: SurfaceLink, question: InboundUpdate, choice: str) -> None:
    name = question.outcome.strip("/?")
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(pk=question.pk, outcome=question.outcome)
    if not rows.update(outcome=f"/{name}: {choice}"):
        case.tell(_("This question is no longer open."))
        inbox.done(case.row, "late answer", link=link)
        return
    _take_buttons_away(question)
    if choice == "no":
        case.tell(_("Nothing was changed."))
        inbox.done(case.row, f"/{name}: no", link=link, conversation=case.conversation)
        return
    QUESTIONS[name].answer(case, question, choice)
    inbox.done(case.row, f"/{name}: {choice}", link=link, conversation=case.conversation)


def _take_buttons_away(question: InboundUpdate) -> None:
    """The question stands without its buttons once it is answered. (Disconnecting cancels what is still to be sent.)"""
    asked = Delivery.objects.using(db.write_alias(Delivery)).filter(inbound=question.pk, message=None).first()
    if asked is None or not asked.payload.get("buttons") or question.conversation is None:
        return
    place = {"surface": asked.surface, "account": asked.account, "chat": asked.chat, "topic": asked.topic}
    again = {"text": asked.payload["text"], "edits": str(asked.uid)}
    outbox.write(place, [again], conversation=question.conversation)


def _open(case: Case) -> QuerySet[InboundUpdate]:
    """Questions that this person was asked here, and has not answered."""
    rows = InboundUpdate.objects.using(db.write_alias(InboundUpdate)).filter(
        surface=case.row.surface, account=case.row.account, sender=case.row.sender, link=case.link
    )
    since = Now() - timedelta(minutes=OPEN_MINUTES)
    return rows.filter(outcome__in=[f"/{name}?" for name in QUESTIONS], finished_at__gt=since)


def _just_asked(case: Case) -> InboundUpdate | None:
    """The question, if it was the last thing this person caused here."""
    newest = (
        InboundUpdate.objects.using(db.write_alias(InboundUpdate))
        .filter(surface=case.row.surface, account=case.row.account, sender=case.row.sender, pk__lt=case.row.pk)
        .exclude(status=InboundUpdate.Status.SKIPPED)
        .order_by("-pk")
        .values_list("pk", flat=True)
        .first()
    )
    found: InboundUpdate | None = _open(case).filter(pk=newest).first() if newest is not None else None
    return found


def _meant(text: str) -> list[str]:
    """What somebody may have chosen by typing this."""
    if len(text) > _LONGEST_WORD + 10:
        return []
    plain = "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
    word = " ".join(plain.split()).strip(" .!“”\"'")
    return [choice for choice, words in WORDS.items() if word in words]


def _typed(choice: str) -> str:
    """The word to type, in the person's language."""
    return {
        "yes": _("yes"),
        "here": _("here"),
        "everywhere": _("everywhere"),
        "keep": _("keep"),
        "remove": _("remove"),
        "no": _("no"),
    }[choice]
