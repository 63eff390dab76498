"""The messages of a conversation: read backwards from the newest, and sent."""

from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from crossmemory import attachments, db, erase, intake, log
from crossmemory.api import inputs, shapes
from crossmemory.api.base import ApiView
from crossmemory.api.places import find
from crossmemory.clean import clean
from crossmemory.exceptions import Invalid, NotFound, ReadOnlyHere, Refused
from crossmemory.models import Conversation, Message, MessageChunk

PAGE = 50
LARGEST_PAGE = 200
CLIENT_ID_LENGTH = 128


class MessageList(ApiView):
    """The message feed: all that retention has not erased, also what the log has trimmed."""

    def get(self, request: Request, uid: str) -> Response:
        """The newest messages before `?before=<seq>`, ascending."""
        conversation = self.conversation(uid)
        limit = inputs.integer(request.query_params, "limit", PAGE, 1, LARGEST_PAGE) or PAGE
        before = inputs.integer(request.query_params, "before", None, 1)
        rows = Message.objects.using(db.write_alias(Message)).of(self.person).filter(conversation=conversation.pk)
        if before is not None:
            rows = rows.filter(seq__lt=before)
        found = list(rows.select_related("run").order_by("-seq")[: limit + 1])
        older, page = found[limit:], found[:limit][::-1]
        written = _written([row.pk for row in page if row.status == Message.Status.WRITING])
        return Response(
            {
                "messages": [shapes.message(row, conversation.surface, written.get(row.pk, "")) for row in page],
                "before": page[0].seq if older else None,
            }
        )

    def post(self, request: Request, uid: str) -> Response:
        """Say something. Repeated with the same `client_id` and text, it is stored once and answered the same."""
        conversation, values = self.conversation(uid), self.values
        client_id = clean(inputs.text(values, "client_id"))
        if not 1 <= len(client_id) <= CLIENT_ID_LENGTH:
            raise Invalid(_("client_id must have 1 to %(most)d characters.") % {"most": CLIENT_ID_LENGTH})
        stored = intake.say_on_the_page(
            conversation,
            inputs.text(values, "text", ""),
            author=self.actor,
            client_id=client_id,
            parts=values.get("parts"),
        )
        answer: dict[str, Any] = {
            "id": str(stored.uid),
            "seq": stored.seq,
            "client_id": client_id,
            "duplicate": stored.duplicate,
        }
        if stored.used is not None and (warning := stored.used.warning()):
            answer["budget"] = warning
        return Response(answer, status=200 if stored.duplicate else 201)


class MessageDetail(ApiView):
    """One message: edited or deleted by its person."""

    def patch(self, request: Request, uid: str, message: str) -> Response:
        """Another `text` for the person's own words; what was answered to the earlier ones stays as it is."""
        conversation, text = self.conversation(uid), inputs.text(self.values, "text")
        if not find(conversation.surface).primary:
            raise ReadOnlyHere
        row = self._message(conversation, message)
        if row.role != Message.Role.USER or row.status != Message.Status.COMPLETE:
            raise Refused
        log.edit(row, attachments.worded(row.parts, text), self.actor)
        return Response(shapes.message(row, conversation.surface, ""))

    def delete(self, request: Request, uid: str, message: str) -> Response:
        """Take the words out of a message and out of the log: it stays as an empty place."""
        row = self._message(self.conversation(uid), message)
        if row.status == Message.Status.WRITING:
            raise Refused
        erase.message(row, self.actor)
        return Response(status=204)

    def _message(self, conversation: Conversation, uid: str) -> Message:
        rows = Message.objects.using(db.write_alias(Message)).of(self.person).filter(conversation=conversation.pk)
        found = rows.select_related("conversation", "run").filter(uid=inputs.public_id(uid)).first()
        if found is None:
            raise NotFound
        return found


def _written(messages: list[int]) -> dict[int, str]:
    """The text so far of messages that are being written."""
    if not messages:
        return {}
    chunks = MessageChunk.objects.using(db.write_alias(MessageChunk)).filter(message__in=messages)
    texts: dict[int, str] = {}
    for message, text in chunks.order_by("message", "offset").values_list("message", "text"):
        texts[message] = texts.get(message, "") + text
    return texts
