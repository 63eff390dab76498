"""What goes wrong, as answers: the one place that gives the app's exceptions an HTTP status and a line for people."""

import logging
from typing import Any

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig
from django.core.exceptions import PermissionDenied as DjangoPermissionDenied
from django.db import DatabaseError, InterfaceError
from django.http import Http404
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from rest_framework import exceptions as drf
from rest_framework.response import Response

from crossmemory import exceptions, linking, turns
from crossmemory.budget import OverBudget

logger = logging.getLogger(__name__)

DATABASE_GONE = (DatabaseError, InterfaceError)
RETRY_AFTER_SECONDS = 2  # when the database is away


class BodyTooLarge(drf.APIException):
    """The body is larger than any request of this API can be; it was not read."""

    status_code = 413
    default_code = "too_large"
    default_detail = _("The request is too large.")


class TooManyCodes(drf.Throttled):
    """Too many link codes in too short a time."""

    default_detail = _("Too many codes were made: try again later.")
    extra_detail_singular = extra_detail_plural = ""


#: status of what the app raises; the first class that fits counts, so that special ones stand before general ones
_STATUS: list[tuple[type[exceptions.CrossmemoryError], int]] = [
    (exceptions.NotFound, 404),
    (linking.NoSuchLink, 404),
    (turns.AlreadyDecided, 409),
    (turns.OtherArguments, 409),
    (exceptions.Refused, 403),
    (exceptions.Invalid, 400),
    (exceptions.LinkError, 400),
    (exceptions.UnsupportedFeature, 400),
    (exceptions.Conflict, 409),
    (exceptions.Fenced, 409),
    (exceptions.CrossmemoryError, 500),
]

NOT_FOUND = _("This does not exist, or it is not yours.")

#: the line for people; other exceptions bring their own
_DETAIL: dict[type[exceptions.CrossmemoryError], str | Promise] = {
    exceptions.NotFound: NOT_FOUND,
    linking.NoSuchLink: NOT_FOUND,
    exceptions.ReadOnlyHere: _("This conversation belongs to another surface: write there, or continue in a new chat."),
    exceptions.AgentNotAllowed: _("You may not use this assistant."),
    exceptions.Refused: _("This is not possible here."),
    exceptions.EmptyText: _("The message has no text."),
    exceptions.TextTooLong: _("The message is too long."),
    exceptions.AttachmentError: _("A file of this message does not exist, or belongs to another one."),
    exceptions.EmptyFile: _("The file is empty."),
    exceptions.Conflict: _("This client_id was used before, with another text."),
    exceptions.Fenced: _("Something else happened at the same time: try again."),
    exceptions.UnsupportedFeature: _("This surface cannot do that."),
    exceptions.Misconfigured: _("The site is not set up correctly."),
}

_NOT_SIGNED_IN = (drf.NotAuthenticated, drf.AuthenticationFailed)


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """The answer to an exception that a view raised; None for one that is a mistake of ours."""
    if isinstance(error, exceptions.CrossmemoryError):
        return _of_the_app(error)
    if isinstance(error, DATABASE_GONE):
        logger.error("The database did not answer a request.", exc_info=error)
        detail = gettext("The database does not answer at the moment: try again soon. Nothing was stored.")
        return refusal(503, "unavailable", detail, {"Retry-After": str(RETRY_AFTER_SECONDS)})
    if isinstance(error, (Http404, ObjectDoesNotExist)):
        return refusal(404, "not_found", str(NOT_FOUND))
    if isinstance(error, RequestDataTooBig):
        error = BodyTooLarge()
    if isinstance(error, DjangoPermissionDenied):
        error = drf.PermissionDenied()
    return _of_drf(error) if isinstance(error, drf.APIException) else None


def refusal(
    status: int, code: str, detail: str, headers: dict[str, str] | None = None, facts: dict[str, Any] | None = None
) -> Response:
    return Response({"code": code, "detail": detail, **(facts or {})}, status=status, headers=headers)


def _of_the_app(error: exceptions.CrossmemoryError) -> Response:
    status = next(status for kind, status in _STATUS if isinstance(error, kind))
    if status == 500:
        logger.error("A request failed.", exc_info=error)
    detail = _DETAIL.get(type(error))
    if detail is None:
        detail = gettext("Something went wrong.") if status == 500 else gettext(str(error))
    facts = error.facts if isinstance(error, (turns.AlreadyDecided, OverBudget)) else None
    return refusal(status, error.code, str(detail), facts=facts)


def _of_drf(error: drf.APIException) -> Response:
    if isinstance(error, _NOT_SIGNED_IN):
        # 401 whichever authentication class comes first, so that "signed out" and "not allowed" can be told apart.
        headers = {"WWW-Authenticate": getattr(error, "auth_header", None) or "Session"}
        return refusal(401, "not_signed_in", gettext("Sign in first."), headers)
    wait = getattr(error, "wait", None)  # seconds, of Throttled
    headers = {"Retry-After": str(int(wait))} if wait else {}
    detail, code = str(error.detail), error.get_codes()
    if isinstance(error, (drf.ParseError, drf.ValidationError)):
        return refusal(400, "invalid", gettext("The request is not valid JSON."), headers)
    if isinstance(error, drf.PermissionDenied) and detail.startswith("CSRF"):
        code = "csrf"
    return refusal(error.status_code, code if isinstance(code, str) else error.default_code, detail, headers)
