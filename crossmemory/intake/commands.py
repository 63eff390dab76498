"""What people command, in English and in Spanish."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext as _

from crossmemory import inbox, linking, log, turns
from crossmemory.exceptions import LinkError
from crossmemory.intake import again, asking, forgetting, strangers
from crossmemory.intake.unlinking import unlink
from crossmemory.models import InboundUpdate, SurfaceLink

if TYPE_CHECKING:
    from crossmemory.intake.case import Case

LANGUAGES = ("en", "es")

#: other names of a command
SPANISH = {
    "empezar": "start",
    "nuevo": "new",
    "parar": "stop",
    "repetir": "again",
    "olvidar": "forget",
    "idioma": "language",
    "conectar": "link",
    "desconectar": "unlink",
    "ayuda": "help",
}


def menu() -> list[tuple[str, str]]:
    """The commands and what they do, in the language that is active: for a platform's menu, and for /help."""
    known = {
        "new": _("a fresh start"),
        "stop": _("stop the answer that is being written"),
        "again": _("answer my newest message again"),
        "forget": _("delete what was said"),
        "language": _("choose a language"),
        "link": _("is this account connected?"),
        "unlink": _("disconnect this account"),
        "help": _("what I can do"),
    }
    names = {english: spanish for spanish, english in SPANISH.items()}
    spanish = (translation.get_language() or "").startswith("es")
    return [(names[name] if spanish else name, does) for name, does in known.items()]


def menus() -> dict[str, list[tuple[str, str]]]:
    """The menu in every language that has one of its own; "" for all other languages."""
    found = {}
    for language in LANGUAGES:
        with translation.override(language):
            found["" if language == "en" else language] = menu()
    return found


def carry_out(case: Case) -> None:
    """Do what a command asks, and say so."""
    name = SPANISH.get(case.inbound.command, case.inbound.command)
    if name in ("start", "link") and case.inbound.text:
        _use_code(case)
    elif case.link is None:
        inbox.done(case.row, strangers.answer(case, strangers.ASKED_PER_HOUR))
    else:
        linking.seen(case.link, case.inbound.chat, case.inbound.name)
        case.conversation = linking.conversation_of(case.link)
        if name in _QUESTIONS:
            _QUESTIONS[name](case)
        else:
            case.tell(_COMMANDS.get(name, _help)(case, case.link))
            inbox.done(case.row, f"/{name}", link=case.link, conversation=case.conversation)


def _use_code(case: Case) -> None:
    row, inbound = case.row, case.inbound
    try:
        link = linking.use_code(
            row.surface,
            row.account,
            inbound.text.strip(),
            inbound.sender,
            inbound.chat,
            inbound.name,
            inbound.language,
            private=inbound.private,
        )
    except LinkError as error:
        if error.code != linking.TooManyGuesses.code or not _was_told(case, error.code):
            case.tell(_refusal(error))
        inbox.done(row, error.code, link=case.link)
        return
    case.tell(_("Almost done: go back to the site and confirm there that this account is yours."))
    inbox.done(row, "link_pending", link=link)


def _was_told(case: Case, outcome: str) -> bool:
    """Whether the sender's last update was answered in the same way: one such answer is enough."""
    before = type(case.row).objects.filter(
        surface=case.row.surface, account=case.row.account, sender=case.row.sender, pk__lt=case.row.pk
    )
    return before.order_by("-pk").values_list("outcome", flat=True).first() == outcome


def _refusal(error: LinkError) -> str:
    match error.code:
        case linking.ExpiredCode.code:
            return _("This code has expired. Please get a new one on the site.")
        case linking.TooManyGuesses.code:
            return _("Too many wrong codes. Please try again in an hour.")
        case linking.NotPrivate.code:
            return _("Please open a private chat with me to connect your account.")
        case _:
            return _("This code is not valid, or it was used already. Please get a new one on the site.")


def _start(case: Case, link: SurfaceLink) -> str:
    return _("Hello, %(name)s! You are connected. Just write to me; /help says what else I can do.") % {
        "name": link.name or case.inbound.name
    }


def _link(case: Case, link: SurfaceLink) -> str:
    return _("This account is connected. /unlink disconnects it.")


def _stop(case: Case, link: SurfaceLink) -> str:
    assert case.conversation is not None
    if turns.request_stop(case.conversation, case.person):
        return _("Stopped.")
    return _("There is nothing to stop.")


def _language(case: Case, link: SurfaceLink) -> str:
    wanted = case.inbound.text.strip().lower()
    codes = [code for code, _name in settings.LANGUAGES if code in LANGUAGES]
    if wanted in codes:
        linking.speak(link, wanted)
        with translation.override(wanted):
            return _("I will speak English with you from now on.")
    return _("Choose a language: %(choices)s") % {"choices": ", ".join(f"/language {code}" for code in codes)}


def _help(case: Case, link: SurfaceLink) -> str:
    lines = [_("Just write to me. I also know these commands:")]
    return "\n".join([*lines, *(f"/{name} – {does}" for name, does in menu())])


_COMMANDS: dict[str, Callable[[Case, SurfaceLink], str]] = {
    "start": _start,
    "help": _help,
    "link": _link,
    "stop": _stop,
    "again": again.asked,
    "language": _language,
}


def _ask_afresh(case: Case) -> None:
    text = _(
        "A fresh start: shall I no longer look at what was said before? “Here” means in this chat; “everywhere” means "
        "on the site and your other accounts too. Nothing is deleted, and each chat on the site keeps its own thread."
    )
    asking.ask(case, "new", text, [("here", _("Here")), ("everywhere", _("Everywhere")), ("no", _("No"))])


def _open_afresh(case: Case, question: InboundUpdate, choice: str) -> None:
    assert case.conversation is not None
    if choice == "everywhere":
        log.open_afresh_everywhere(case.conversation, case.person)
        case.tell(_("A fresh start everywhere: I no longer look at what was said before this."))
    else:
        log.open_afresh(case.conversation, case.person)
        case.tell(_("A fresh start here: in this chat I no longer look at what was said before this."))


def _ask_unlink(case: Case) -> None:
    text = _(
        "Shall I disconnect this account? I will no longer know you here, and what was still to be sent is cancelled. "
        "What was said here can be kept on the site, or removed there; what stands in this chat on your phone stays."
    )
    choices = [("keep", _("Disconnect and keep")), ("remove", _("Disconnect and remove")), ("no", _("No"))]
    asking.ask(case, "unlink", text, choices)


def _unlink(case: Case, question: InboundUpdate, choice: str) -> None:
    assert case.link is not None
    case.conversation = None  # what belongs to it is cancelled or removed with it; this answer is not
    unlink(case.link.user, case.link.uid, "remove" if choice == "remove" else "keep")
    if choice == "remove":
        text = _("Disconnected, and what was said here is removed from the site. I no longer know you here.")
    else:
        text = _("Disconnected. I no longer know you here. What was said here can be read and removed on the site.")
    case.tell(text)


#: commands that ask before they do anything
_QUESTIONS: dict[str, Callable[[Case], None]] = {
    "new": _ask_afresh,
    "forget": forgetting.ask,
    "unlink": _ask_unlink,
}
asking.QUESTIONS["new"] = asking.Question(("here", "everywhere", "no"), _open_afresh)
asking.QUESTIONS["unlink"] = asking.Question(("keep", "remove", "no"), _unlink)
asking.QUESTIONS["forget"] = asking.Question(("yes", "no"), forgetting.carry_out)
