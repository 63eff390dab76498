"""Trouble with a provider: what it is, whether to wait, and what the person is told."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic_ai import exceptions as e

_FIRST_WAIT = 1.0  # seconds; doubled each time
_LONGEST_WAIT = 8.0  # seconds, where the provider does not say how long
_IMAGE = re.compile(r"\b(image|picture|media)", re.IGNORECASE)
_POLICY = re.compile(r"content[ _]?(policy|filter|management)|safety system|PROHIBITED_CONTENT", re.IGNORECASE)

#: what passes by itself: the same request may be sent again
PASSING = frozenset({"rate_limited", "overloaded", "provider_error", "connection", "timeout"})


@dataclass(frozen=True, slots=True)
class Trouble:
    """What went wrong, in one word; `retry_after` is in seconds, where the provider says so."""

    code: str
    retry_after: float | None = None

    @property
    def line(self) -> str:
        """The honest line for the person, in the active language."""
        if self.code in _BUSY:
            return _BUSY[self.code]() + " " + _when(self.retry_after)
        return _LINES.get(self.code, _LINES["rejected"])()

    def wait(self, attempt: int) -> float:
        """Seconds before the next attempt, the first being 1: as the provider says, else longer each time."""
        if self.retry_after is not None:
            return self.retry_after
        return min(_FIRST_WAIT * 2.0 ** (attempt - 1), _LONGEST_WAIT) * random.uniform(0.8, 1.2)


def told(error: BaseException) -> Trouble | None:
    """What a library's exception means; None: it is no trouble with the provider."""
    table: Sequence[tuple[type[BaseException], str]] = (
        (e.ContentFilterError, "refused"),
        (e.ModelContextWindowExceededError, "context_too_long"),
        (e.ModelQuotaExceededError, "quota"),
        (e.ModelRateLimitError, "rate_limited"),
        (e.ModelUnavailableError, "overloaded"),
        (e.ModelServerError, "provider_error"),
        (e.ModelTimeoutError, "timeout"),
        (e.ModelRequestTimeout, "timeout"),
        (e.ModelConnectionError, "connection"),
        (e.ModelAuthenticationError, "unauthorized"),
        (e.ModelNotFoundError, "model_not_found"),
        (e.UsageLimitExceeded, "limit"),
        (e.ModelAPIError, "rejected"),
        (e.UnexpectedModelBehavior, "unexpected"),
    )
    code = next((code for kind, code in table if isinstance(error, kind)), None)
    if code is None:
        return None
    if code == "rejected":
        # Only words tell these apart: no provider has a status or a stable code of its own for them.
        words = f"{getattr(error, 'provider_error_code', '')} {error}"
        code = "refused" if _POLICY.search(words) else "image" if _IMAGE.search(words) else code
    return Trouble(code, getattr(error, "retry_after", None))


def _when(seconds: float | None) -> str:
    if seconds is None or seconds < 45:
        return _("Please try again in a moment.")
    minutes = max(1, round(seconds / 60))
    return ngettext("Please try again in about a minute.", "Please try again in about %(count)d minutes.", minutes) % {
        "count": minutes
    }


_BUSY: dict[str, Callable[[], str]] = {
    "rate_limited": lambda: _("The language model gets more questions just now than it takes."),
    "overloaded": lambda: _("The language model is overloaded just now."),
    "provider_error": lambda: _("The language model has a problem of its own just now."),
    "connection": lambda: _("The language model cannot be reached just now."),
    "timeout": lambda: _("The language model took too long."),
}
_LINES: dict[str, Callable[[], str]] = {
    "broken_off": lambda: _("The connection to the language model broke off before I had finished. Please ask again."),
    "unauthorized": lambda: _("The language model does not let this site in. The people who run it can see why."),
    "quota": lambda: _("This site has used up its share of the language model. The people who run it can see that."),
    "model_not_found": lambda: _("The language model is not there. The people who run this site can see why."),
    "context_too_long": lambda: _(
        "That is more than the language model takes in at once. Please make it shorter, or begin a new chat."
    ),
    "refused": lambda: _(
        "The language model's provider refuses to answer that. I leave it out from now on, so we can go on."
    ),
    "limit": lambda: _("That took more steps than I may take, so I stopped."),
    "unexpected": lambda: _("The language model gave no usable answer. Please ask again."),
    "rejected": lambda: _("The language model did not accept this. The people who run this site can see why."),
}

#: every code that a person is told a line for
CODES = frozenset(_BUSY) | frozenset(_LINES)
