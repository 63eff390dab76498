"""What the assistant would see now, and what it saw."""

import uuid
from collections.abc import Iterable
from dataclasses import replace

from django.utils.translation import gettext as _
from rest_framework.request import Request
from rest_framework.response import Response

from crossmemory import db, linking, memory
from crossmemory.api import inputs, shapes
from crossmemory.api.base import ApiView
from crossmemory.conf import surface_label
from crossmemory.exceptions import CrossmemoryError, Invalid, NotFound
from crossmemory.memory import LeftOut, Remembered
from crossmemory.models import Conversation, Message, Owner, Run
from crossmemory.surfaces import surfaces


class ContextPreview(ApiView):
    """What the assistant would see if it answered now."""

    def get(self, request: Request) -> Response:
        """In `?conversation=<id>`, or on `?surface=telegram` (and `&agent=`), whether or not it was used before."""
        query = request.query_params
        if ("conversation" in query) == ("surface" in query):
            raise Invalid(_("Name either a conversation or a surface."))
        if "conversation" in query:
            conversation = self.conversation(query["conversation"])
        else:
            conversation = self._on(query["surface"], query.get("agent"))
        context = memory.build_context(conversation)
        left_out = context.manifest.left_out
        owner = Owner(conversation.user_id, conversation.tenant, conversation.agent)
        uids = _uids(owner, [*(m.id for m in context.messages), *(left.id for left in left_out)])
        return Response(
            {
                "messages": [shapes.remembered(m, *uids[m.id]) for m in context.messages if m.id in uids],
                "left_out": shapes.left_out(left_out, {pk: uid for pk, (uid, _conversation) in uids.items()}),
                "more": context.manifest.more,
            }
        )

    def _on(self, alias: str, agent: str | None) -> Conversation:
        """The person's conversation on a surface, or what it would be: looking makes no rows. Raises NotFound."""
        if alias not in surfaces:
            raise NotFound
        if agent is None:
            try:
                agent = surfaces[alias].agent
            except CrossmemoryError:
                raise NotFound from None
        return linking.would_be(replace(self.person, agent=agent), alias)


class RunDetail(ApiView):
    """What the assistant saw for one answer."""

    def get(self, request: Request, uid: str) -> Response:
        runs = Run.objects.using(db.write_alias(Run)).of(self.person).select_related("conversation")
        run = runs.filter(uid=inputs.public_id(uid)).first()
        if run is None:
            raise NotFound
        manifest = run.manifest or {}
        used, left_out = manifest.get("used", []), manifest.get("left_out", [])
        owner = Owner(run.conversation.user_id, run.conversation.tenant, run.conversation.agent)
        found = _messages(owner, [entry["id"] for entry in [*used, *left_out]])
        return Response(
            {
                "id": str(run.uid),
                "status": run.status,
                "saw": shapes.saw(run.manifest),
                "messages": [_shown(found[entry["id"]], entry["own"]) for entry in used if entry["id"] in found],
                "left_out": shapes.left_out(
                    [LeftOut(entry["id"], entry["reason"]) for entry in left_out],
                    {pk: message.uid for pk, message in found.items()},
                ),
                "more": bool(manifest.get("more")),
            }
        )


def _uids(owner: Owner, keys: Iterable[int]) -> dict[int, tuple[uuid.UUID, uuid.UUID]]:
    """Public ids of the owner's messages and their conversations, by key."""
    rows = Message.objects.using(db.write_alias(Message)).of(owner).filter(pk__in=set(keys))
    return {pk: (uid, conversation) for pk, uid, conversation in rows.values_list("pk", "uid", "conversation__uid")}


def _messages(owner: Owner, keys: Iterable[int]) -> dict[int, Message]:
    rows = Message.objects.using(db.write_alias(Message)).of(owner).filter(pk__in=set(keys))
    return {message.pk: message for message in rows.select_related("conversation")}


def _shown(message: Message, own: bool) -> dict[str, object]:
    """A message of a manifest with its words as they are now: those deleted since are not shown."""
    surface = message.conversation.surface
    seen = Remembered(
        id=message.pk,
        conversation_id=message.conversation_id,
        seq=message.seq,
        turn=message.turn,
        role=message.role,
        text=message.text,
        surface=surface,
        label=surface_label(surface),
        at=message.created_at,
        own=own,
    )
    return shapes.remembered(seen, message.uid, message.conversation.uid)
