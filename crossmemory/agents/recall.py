"""The embedded default: no model, no key, no network. It finds what was said and quotes it, and says that it is so."""

import asyncio
import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from zoneinfo import ZoneInfo

from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext

from crossmemory.agents.base import Agent, Output, Text
from crossmemory.conf import primary_surface
from crossmemory.memory import Context, Remembered

_ENGLISH = """
a about am an and any are as at be been but by can could did do does for from had has have he her his how i if in is it
its just know me my no not of on or our please remember say said she so tell than that the their them then there these
they this those to told was we were what when where which who whose why will with would yes you your
"""
_SPANISH = """
al algo como con cual cuando cuanto cuanta de del dime dije dijo donde el ella en era eres es esa ese eso esta este esto
fue ha hay he la las le lo los me mi mis muy no nos o para pero por porque que quien recuerda recuerdas recordar se ser
si sin sobre son soy su sus te tengo tiene tu tus un una unas unos y ya yo
"""
_COMMON = frozenset((_ENGLISH + _SPANISH).split())
_ALL = re.compile(
    r"what (do|can|did) you (remember|know|recall)|what have i (told|said)"
    r"|qu[eé] (recuerdas|sabes)|qu[eé] te (he dicho|dije)",
    re.IGNORECASE,
)
_ASKS = re.compile(
    r"^\W*(what|when|where|who|whose|which|why|how|do|does|did|is|are|was|were|can|could|will|would|has|have"
    r"|tell me|remind me|qu[eé]|cu[aá]ndo|d[oó]nde|qui[eé]n|cu[aá]l|por qu[eé]|c[oó]mo|cu[aá]nt[oa]s?|dime"
    r"|recu[eé]rdame|a qu[eé])\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]+", re.UNICODE)
_LISTED = 12  # messages that "what do you remember?" lists at most
_QUOTED = 3  # messages that an answer quotes at most


class RecallAgent(Agent):
    """Answers only from the context it is given. `pace`: seconds between words, so that a demo can be watched."""

    def __init__(self, alias: str, *, pace: float = 0) -> None:
        super().__init__(alias)
        self.pace = pace

    async def reply(self, context: Context) -> AsyncIterator[Output]:
        with translation.override(context.language):
            answer = compose(context)
        for piece in re.findall(r"\S+\s*|\s+", answer):
            yield Text(piece)
            if self.pace:
                await asyncio.sleep(self.pace)


def compose(context: Context) -> str:
    """The whole answer, in the active language."""
    question = context.question
    earlier = _earlier(context)
    answer = _answer(question, earlier, context)
    if context.missing:
        answer += "\n\n" + _("Earlier messages could not be read just now, so something may be missing.")
    return answer


def _answer(question: str, earlier: Sequence[Remembered], context: Context) -> str:
    said = [message for message in earlier if message.role == "user" and not _asks(message.text)]
    if _ALL.search(question):
        return _listed(said, context) if said else _("I remember nothing yet. Tell me something first.")
    found = _found(question, said)
    if not _asks(question):
        if found and _similar(question, found[0].text):
            said_before = {"where": _where(found[0], context), "quote": _quote(found[0].text)}
            return _("Noted. That is newer than what you said %(where)s: %(quote)s") % said_before
        return _("Noted. (No language model is connected: I can tell you again what you told me.)")
    if not found:
        return _(
            "I find nothing about that in what I can see. (No language model is connected: I only look up what was"
            " said.)"
        )
    return "\n\n".join(
        _("%(where)s you said: %(quote)s")
        % {"where": _capital(_where(message, context)), "quote": _quote(message.text)}
        for message in found[:_QUOTED]
    )


def _earlier(context: Context) -> list[Remembered]:
    """What came before the words that have to be answered."""
    asked = {message.id for message in context.asked}
    return [message for message in context.messages if message.id not in asked]


def _asks(text: str) -> bool:
    return "?" in text or _ASKS.search(text) is not None


def _listed(said: Sequence[Remembered], context: Context) -> str:
    shown = said[-_LISTED:]
    lines = [f"- {_quote(message.text)} ({_where(message, context)})" for message in shown]
    head = ngettext("I remember %(count)d message:", "I remember %(count)d messages:", len(shown)) % {
        "count": len(shown)
    }
    return "\n".join([head, *lines])


def _plain(word: str) -> str:
    """Lower case, without accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.casefold()) if not unicodedata.combining(c))


def _stem(word: str) -> str:
    for ending in ("ing", "es", "ed", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word[: -len(ending)]
    return word


def _words(text: str) -> set[str]:
    plain = (_plain(word) for word in _WORD.findall(text))
    return {_stem(word) for word in plain if word not in _COMMON}


def _found(question: str, said: Sequence[Remembered]) -> list[Remembered]:
    """What fits best, the newest first: a correction comes before what it corrects."""
    wanted = _words(question)
    scores = [(len(wanted & _words(message.text)), message) for message in said]
    best = max((score for score, _message in scores), default=0)
    if not best:
        return []
    enough = max(1, (best + 1) // 2)
    return [message for score, message in reversed(scores) if score >= enough]


def _similar(one: str, other: str) -> bool:
    """Whether two statements are about the same thing, so that the newer one may correct the older."""
    mine, theirs = _words(one), _words(other)
    return len(mine & theirs) >= 2 and mine != theirs


def _where(message: Remembered, context: Context) -> str:
    local = message.at.astimezone(ZoneInfo(context.time_zone))
    moment = {"date": date_format(local, pgettext("date format", "j F")), "time": local.strftime("%H:%M")}
    if message.own:
        return _("here, on %(date)s at %(time)s") % moment
    if message.surface == primary_surface():
        return _("on the web, on %(date)s at %(time)s") % moment
    return _("on %(surface)s, on %(date)s at %(time)s") % {"surface": message.label, **moment}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _quote(text: str) -> str:
    flat = " ".join(text.split())
    return f"“{flat}”"
