"""A person's conversations: listed, begun, changed, stopped, read, deleted."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from django.db import models, transaction
from django.db.models import OuterRef, Subquery
from rest_framework.request import Request
from rest_framework.response import Response

from crossmemory import db, erase, intake, linking, log, permission, turns
from crossmemory.agents import agents
from crossmemory.api import inputs, pages, shapes
from crossmemory.api.base import ApiView
from crossmemory.api.places import Places
from crossmemory.conf import primary_surface
from crossmemory.log.conversations import checked_title
from crossmemory.models import DEFAULT_AGENT, Conversation, Message, Owner, Run
from crossmemory.models.conversation import ConversationQuerySet
from crossmemory.pausing import Pauses

PAGE = 50
LARGEST_PAGE = 100
MOST_UNREAD = 99

_ACTIVE = (Run.Status.RUNNING.value, Run.Status.AWAITING_APPROVAL.value)
_SHOWN = (Run.Status.QUEUED.value, Run.Status.FAILED.value)  # of the newest run, when none is active


class CountOf(Subquery):
    """How many rows a bounded subquery finds."""

    template: ClassVar[str] = "(SELECT COUNT(*) FROM (%(subquery)s) AS found)"  # type: ignore[misc]
    output_field = models.IntegerField()


def mine(person: Owner) -> ConversationQuerySet:
    return Conversation.objects.using(db.write_alias(Conversation)).of(person)


def described(person: Owner, rows: Sequence[Conversation]) -> list[dict[str, Any]]:
    """Conversations as the API shows them, with the state of their runs and their unread answers: one query for all,
    and one for what is paused.

    It does not grow with their length: an active run is the newest or the one before it, and counting stops at
    MOST_UNREAD.
    """
    using = db.write_alias(Conversation)
    runs = Run.objects.using(using).filter(conversation=OuterRef("pk")).order_by("-pk").values("status")
    unread = Message.objects.using(using).filter(
        conversation=OuterRef("pk"),
        seq__gt=OuterRef("read_seq"),
        role=Message.Role.ASSISTANT,
        status=Message.Status.COMPLETE,
    )
    found = mine(person).filter(pk__in=[row.pk for row in rows])
    states = {
        pk: (newest, before, count)
        for pk, newest, before, count in found.values_list(
            "pk", Subquery(runs[:1]), Subquery(runs[1:2]), CountOf(unread.values("pk")[:MOST_UNREAD])
        )
    }
    places, pauses = Places(), Pauses()
    shown = []
    for row in rows:
        newest, before, count = states.get(row.pk, (None, None, 0))
        shown.append(shapes.conversation(row, places, pauses, _state(newest, before), count))
    return shown


def _state(newest: str | None, before: str | None) -> str:
    """What the runs of a conversation are at, as one word."""
    for status in (newest, before):
        if status in _ACTIVE:
            return status
    return newest if newest in _SHOWN else "idle"


class ConversationList(ApiView):
    """The person's conversations, newest first."""

    def get(self, request: Request) -> Response:
        """A page; `?agent=` keeps to one assistant."""
        query = request.query_params
        limit = inputs.integer(query, "limit", PAGE, 1, LARGEST_PAGE) or PAGE
        person = Owner.of(request.user, query.get("agent") or None)  # type: ignore[arg-type]
        rows = list(pages.after(mine(person), query.get("cursor", ""))[: limit + 1])
        following = pages.address(request.path, query, rows[limit - 1]) if len(rows) > limit else None
        return Response({"results": described(person, rows[:limit]), "next": following})

    def post(self, request: Request) -> Response:
        """A new conversation on the web."""
        values = self.values
        agent = inputs.choice(values, "agent", list(agents), DEFAULT_AGENT)
        permission.check(request.user, agent)
        title = checked_title(inputs.text(values, "title", ""))
        shared = inputs.flag(values, "shared", True)
        owner = Owner.of(request.user, agent)  # type: ignore[arg-type]
        made = log.create(owner, primary_surface(), title, shared=shared, actor=self.actor)
        return Response(shapes.conversation(made, Places(), Pauses()), status=201)


class ConversationDetail(ApiView):
    """One conversation."""

    def get(self, request: Request, uid: str) -> Response:
        return Response(described(self.person, [self.conversation(uid)])[0])

    def patch(self, request: Request, uid: str) -> Response:
        """Change `title`, `shared` (feeds memory) or `reads` (sees memory of others): all that is named, or nothing.

        For the one of a surface the connected account changes with it; what does not read does not feed either.
        """
        conversation, values = self.conversation(uid), self.values
        title = checked_title(inputs.text(values, "title")) if "title" in values else conversation.title
        shared, reads = (inputs.flag(values, name) if name in values else None for name in ("shared", "reads"))
        with transaction.atomic(using=db.write_alias(Conversation)):
            if title != conversation.title:
                log.rename(conversation, title, self.actor)
            if shared is not None or reads is not None:
                linking.set_exchange(conversation, shared=shared, reads=reads)
        return self.get(request, uid)

    def delete(self, request: Request, uid: str) -> Response:
        """Delete it with everything in it. The one of a surface is made anew when something is said there."""
        erase.conversation(self.conversation(uid))
        return Response(status=204)


class Stop(ApiView):
    """Stops the answer that is being written, and the one that waits."""

    def post(self, request: Request, uid: str) -> Response:
        return Response({"stopped": turns.request_stop(self.conversation(uid), self.actor)})


class Again(ApiView):
    """Another answer to the person's newest words."""

    def post(self, request: Request, uid: str) -> Response:
        return Response({"queued": intake.answer_again(self.conversation(uid), self.actor)})


class Approval(ApiView):
    """The person's decision about a tool the assistant asked to use; made once, on any device."""

    def post(self, request: Request, uid: str, tool_call: str) -> Response:
        """`decision` (approved, denied) about exactly the arguments that `args_hash` names."""
        conversation, values = self.conversation(uid), self.values
        choices: list[Literal["approved", "denied"]] = ["approved", "denied"]
        decision = inputs.choice(values, "decision", choices)
        intake.decide(
            conversation,
            inputs.public_id(tool_call),
            decision,
            inputs.text(values, "args_hash"),
            by=self.actor,
            where=primary_surface(),
            signed_in_at=getattr(request.user, "last_login", None),
        )
        return Response({"tool_call": tool_call, "decision": decision})


class Read(ApiView):
    """How far the person has read; shared by all their devices."""

    def post(self, request: Request, uid: str) -> Response:
        """Read up to `seq`; never moves backwards or past the newest event."""
        conversation = self.conversation(uid)
        return Response({"read_seq": log.mark_read(conversation, inputs.seq(self.values, "seq"))})
