"""What the assistant remembers in a conversation from others, and what the person leaves out of it there."""

from collections.abc import Iterable
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from crossmemory import db, memory
from crossmemory.api import inputs, shapes
from crossmemory.api.base import ApiView
from crossmemory.conf import settings, surface_label
from crossmemory.exceptions import Invalid, NotFound
from crossmemory.memory import Aside, Remembered
from crossmemory.models import Conversation, Message, Owner

_NAMED = ("surface", "conversation", "message")


class ConversationMemory(ApiView):
    """Messages of other conversations that are in play in this one, by surface and conversation, each with whether it
    is left out here."""

    def get(self, request: Request, uid: str) -> Response:
        return Response(_described(self.conversation(uid)))

    def patch(self, request: Request, uid: str) -> Response:
        """`{"surface": alias}`, `{"conversation": id}` or `{"message": id}`, with `"left_out": true` or false."""
        conversation, values = self.conversation(uid), self.values
        named = [name for name in _NAMED if name in values]
        if len(named) != 1:
            raise Invalid(_("Name a surface, a conversation or a message."))
        out = inputs.flag(values, "left_out", True)
        name = inputs.text(values, named[0])
        owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
        match named[0]:
            case "surface":
                if name not in settings.SURFACES:
                    raise NotFound
                memory.leave_out(conversation, "surfaces", name, out)
            case "conversation":
                found = self.conversation(name)
                _elsewhere(conversation, found.agent, found.pk)
                memory.leave_out(conversation, "conversations", found.pk, out)
            case "message":
                rows = Message.objects.using(db.write_alias(Message)).of(owner)
                message = rows.filter(uid=inputs.public_id(name)).first()
                if message is None:
                    raise NotFound
                _elsewhere(conversation, message.agent, message.conversation_id)
                memory.leave_out(conversation, "messages", message.pk, out)
        return Response(_described(conversation))


def _elsewhere(conversation: Conversation, agent: str, place: int) -> None:
    """Raise NotFound for another assistant's, Invalid for what was said in this conversation itself."""
    if agent != conversation.agent:
        raise NotFound
    if place == conversation.pk:
        raise Invalid(_("What was said in this conversation always counts in it."))


def _described(conversation: Conversation) -> dict[str, Any]:
    aside = Aside.of(conversation)
    shown = [message for message in memory.build_context(conversation).messages if not message.own]
    known = {message.id for message in shown}
    shown += [message for message in memory.left_out_here(conversation) if message.id not in known]
    places = _places(conversation, aside, shown)
    uids = dict(
        Message.objects.using(db.write_alias(Message))
        .filter(pk__in=[message.id for message in shown])
        .values_list("pk", "uid")
    )
    surfaces: dict[str, list[Any]] = {alias: [] for alias in sorted(aside.surfaces)}
    for place in places:
        messages = sorted((m for m in shown if m.conversation_id == place.pk), key=lambda message: message.id)
        surfaces.setdefault(place.surface, []).append(
            {
                "id": str(place.uid),
                "title": place.title,
                "left_out": place.pk in aside.conversations,
                "messages": [
                    {
                        "id": str(uids[message.id]),
                        "role": message.role,
                        "text": message.text,
                        "at": shapes.when(message.at),
                        "left_out": message.id in aside.messages,
                    }
                    for message in messages
                    if message.id in uids
                ],
            }
        )
    return {
        "reads": conversation.reads,
        "surfaces": [
            {
                "surface": alias,
                "label": surface_label(alias),
                "left_out": alias in aside.surfaces,
                "conversations": conversations,
            }
            for alias, conversations in surfaces.items()
        ],
    }


def _places(conversation: Conversation, aside: Aside, shown: Iterable[Remembered]) -> list[Conversation]:
    """The conversations that something is in play or left out of, with what was said newest first."""
    newest: dict[int, int] = {}
    for message in shown:
        newest[message.conversation_id] = max(message.id, newest.get(message.conversation_id, 0))
    owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
    rows = Conversation.objects.using(db.write_alias(Conversation)).of(owner)
    found = rows.filter(pk__in={*newest, *aside.conversations})
    return sorted(found, key=lambda place: newest.get(place.pk, 0), reverse=True)
