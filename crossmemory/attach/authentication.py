"""Who attaches: a browser by its session and Origin, other programs by the site's own DRF authentication classes."""

from collections.abc import Mapping
from importlib import import_module
from io import BytesIO
from typing import Any
from urllib.parse import urlparse

from channels.security.websocket import OriginValidator
from django.conf import settings as django_settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AbstractBaseUser
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.settings import api_settings

from crossmemory import db


class NotSignedIn(Exception):
    """Nobody is signed in."""


class OriginRefused(Exception):
    """A browser on somebody else's page."""


def authenticate(scope: Mapping[str, Any]) -> AbstractBaseUser:
    """The user behind a socket's scope; the session or token is read anew. Raises NotSignedIn, OriginRefused."""
    headers = {name.lower(): value for name, value in scope["headers"]}
    request = _request(scope)
    if b"authorization" in headers:
        user = _by_token(request)
        if user is not None:
            return user
        raise NotSignedIn
    if not _origin_allowed(scope, headers.get(b"origin")):
        raise OriginRefused
    user = _by_session(request)
    if user is None:
        raise NotSignedIn
    return user


aauthenticate = db.twin(authenticate)


def _request(scope: Mapping[str, Any]) -> HttpRequest:
    """The handshake as a request, for what reads requests."""
    return ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO())


def _by_session(request: HttpRequest) -> AbstractBaseUser | None:
    engine = import_module(django_settings.SESSION_ENGINE)
    request.session = engine.SessionStore(request.COOKIES.get(django_settings.SESSION_COOKIE_NAME))
    user = get_user(request)
    return user if user.is_authenticated and user.is_active else None


def _by_token(request: HttpRequest) -> AbstractBaseUser | None:
    configured: list[type[BaseAuthentication]] = api_settings.DEFAULT_AUTHENTICATION_CLASSES  # type: ignore[assignment]
    classes = [each for each in configured if not issubclass(each, SessionAuthentication)]
    authenticators: list[BaseAuthentication] = [each() for each in classes]
    try:
        user = Request(request, authenticators=authenticators).user
    except APIException:
        return None
    return user if user is not None and user.is_authenticated and user.is_active else None


def _origin_allowed(scope: Mapping[str, Any], origin: bytes | None) -> bool:
    """Whether the page that opens the socket is one of the site's own; browsers always say which page it is."""
    if origin is None:
        return False
    hosts = django_settings.ALLOWED_HOSTS
    if django_settings.DEBUG and not hosts:
        hosts = ["localhost", "127.0.0.1", "[::1]"]
    trusted = [*hosts, *django_settings.CSRF_TRUSTED_ORIGINS]
    try:
        return bool(OriginValidator(None, trusted).valid_origin(_parsed(origin)))
    except ValueError:
        return False


def _parsed(origin: bytes) -> Any:
    parsed = urlparse(origin.decode("latin1"))
    if not parsed.hostname:
        raise ValueError(origin)
    return parsed
