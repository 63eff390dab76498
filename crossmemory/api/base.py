"""What all views share: who asks, what is theirs, and how refusals are told."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from django.db import connections, transaction
from django.utils.cache import patch_cache_control
from rest_framework.authentication import BaseAuthentication
from rest_framework.metadata import SimpleMetadata
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from crossmemory import db, permission
from crossmemory.api import errors, inputs
from crossmemory.api.parser import MAX_BODY_BYTES, BoundedJSONParser
from crossmemory.events import Actor
from crossmemory.exceptions import NotFound
from crossmemory.models import Conversation, Owner

View = Callable[..., Any]


def non_atomic(view: View) -> View:
    """A view outside ATOMIC_REQUESTS, whichever database: writes commit by themselves, and a long poll holds none."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return view


class JsonOnly(BaseContentNegotiation):
    """JSON, whatever a client says it accepts."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        given = (request.content_type or "").partition(";")[0].strip().lower()
        return next((parser for parser in parsers if given in ("", parser.media_type)), None)

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> Any:
        renderer = next(iter(renderers))
        return renderer, renderer.media_type


class ApiView(APIView):
    """A view of the signed-in person's own things. Nothing but authentication and throttling is the site's choice."""

    renderer_classes = [JSONRenderer]
    parser_classes = [BoundedJSONParser]
    permission_classes = [IsAuthenticated]
    content_negotiation_class = JsonOnly
    metadata_class = SimpleMetadata
    versioning_class = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return non_atomic(super().as_view(**initkwargs))

    def get_authenticators(self) -> list[BaseAuthentication]:
        classes: list[type[BaseAuthentication]] = api_settings.DEFAULT_AUTHENTICATION_CLASSES  # type: ignore[assignment]
        return [each() for each in classes]

    def get_authenticate_header(self, request: Request) -> str:
        """The first scheme that programs can use; Basic only where it comes first, as browsers ask for a password."""
        headers = [each.authenticate_header(request) or "" for each in self.get_authenticators()]
        named = [header for index, header in enumerate(headers) if header and (index == 0 or header[:5] != "Basic")]
        return named[0] if named else "Session"

    def get_exception_handler(self) -> Any:
        return errors.answer

    @property
    def largest_body(self) -> int:
        """Bytes of a request at most."""
        return MAX_BODY_BYTES

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if _content_length(request) > self.largest_body:
            raise errors.BodyTooLarge
        super().initial(request, *args, **kwargs)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(response, private=True, no_store=True)
        return response

    @property
    def person(self) -> Owner:
        """The person who asks, with any agent: what they name by its id has its own."""
        return Owner.of(self.request.user, None)  # type: ignore[arg-type]

    @property
    def actor(self) -> Actor:
        return Actor("user", str(self.request.user.pk))

    @property
    def values(self) -> Mapping[str, Any]:
        """The request's body. Raises Invalid, ParseError, BodyTooLarge."""
        return inputs.body(self.request.data)

    def attachable(self, uid: str) -> Conversation:
        """This person's conversation, to be followed. Raises NotFound, AgentNotAllowed.

        What somebody has said remains theirs to read and to delete; following it is using the agent.
        """
        conversation = self.conversation(uid)
        permission.check(self.request.user, conversation.agent)
        return conversation

    def conversation(self, uid: str) -> Conversation:
        """This person's conversation. Raises NotFound, also for somebody else's."""
        mine = Conversation.objects.using(db.write_alias(Conversation)).of(self.person)
        found = mine.filter(uid=inputs.public_id(uid)).first()
        if found is None:
            raise NotFound
        return found


def _content_length(request: Request) -> int:
    try:
        return int(request.META.get("CONTENT_LENGTH") or 0)
    except ValueError:
        return 0
