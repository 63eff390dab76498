"""The log over HTTP: the events after a cursor, at once or as soon as there are some (long poll).

The view is async so that somebody who waits holds neither a thread nor a database connection. Who asks and what they
may see is decided by the same DRF view as everywhere, in the app's database threads.
"""

import asyncio
import uuid

from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from rest_framework.request import Request

from crossmemory import db
from crossmemory.api import errors, inputs
from crossmemory.api.base import ApiView, non_atomic
from crossmemory.attach import frames, reader
from crossmemory.attach.frames import Cursor, Snapshot
from crossmemory.broadcast import Listener
from crossmemory.conf import MIB, settings
from crossmemory.events import wire
from crossmemory.exceptions import NotFound
from crossmemory.models import Conversation, Event

ANSWER_BYTES = MIB  # of events in one answer; there is always at least one
_TRIES = 5  # reads of a log that is trimmed under the reader


class Replayed(HttpResponse):
    """An answer with events, and what a long poll has to know about it."""

    def __init__(self, text: str, conversation_id: int, snapshot: Snapshot, wait: float) -> None:
        super().__init__(text, content_type="application/json")
        self.conversation_id = conversation_id
        self.state = (snapshot.epoch, snapshot.head)
        self.wait = wait  # seconds to wait for news; 0: answer at once


class EventLook(ApiView):
    """The events after a cursor, as they are now."""

    def get(self, request: Request, uid: str) -> HttpResponseBase:
        conversation = self.attachable(uid)
        wait = min(inputs.seconds(request.query_params, "wait"), settings.LONG_POLL_SECONDS)
        cursor = frames.parse_cursor(request.query_params.get("cursor"))
        snapshot, rows = _read(conversation.pk, cursor)
        waits = snapshot.mode(cursor) == "current" and request.method == "GET"
        text = envelope(str(conversation.uid), snapshot, cursor, rows, _event_url(request, uid))
        return Replayed(text, conversation.pk, snapshot, wait if waits else 0)


class EventDetail(ApiView):
    """One event, whole: the `ref` of an event that was too large for a frame."""

    def get(self, request: Request, uid: str, seq: str) -> HttpResponse:
        conversation = self.attachable(uid)
        if not (seq.isascii() and seq.isdigit() and len(seq) < 16):
            raise NotFound
        events = Event.objects.using(db.write_alias(Event)).of(self.person).filter(conversation=conversation.pk)
        body = events.filter(seq=int(seq)).values_list("body", flat=True).first()
        if body is None:
            raise NotFound
        return HttpResponse(wire(int(seq), body), content_type="application/json")


_look = EventLook.as_view()


def _answer(request: HttpRequest, uid: str) -> HttpResponseBase:
    """One look, rendered in this thread."""
    response: HttpResponseBase = _look(request, uid=uid)
    render = getattr(response, "render", None)
    return render() if callable(render) else response


async def event_list(request: HttpRequest, uid: str) -> HttpResponseBase:
    """`?cursor=epoch:seq&wait=25`: one answer; with nothing new, after `wait` seconds or as soon as there is something.

    Without ASGI a waiting request would hold a worker: there it is answered at once. (Under ASGI a middleware of the
    site that knows no async makes Django hold a thread per request all the same.)
    """
    answer = await db.run(_answer, request, uid)
    if not isinstance(answer, Replayed) or not answer.wait or not isinstance(request, ASGIRequest):
        return answer
    loop = asyncio.get_running_loop()
    until = loop.time() + answer.wait
    async with Listener(answer.conversation_id) as bell:
        # Looked at again inside: what was committed before we listened rang for nobody.
        while not await db.run(_moved, answer.conversation_id, answer.state):
            if not await bell.wait(max(0, until - loop.time())):
                break
    return await db.run(_answer, request, uid)


event_list = non_atomic(csrf_exempt(event_list))  # only GET does anything, and DRF checks the token itself


def _moved(conversation_id: int, state: tuple[str, int]) -> bool:
    """Whether a log is not what it was; also when that cannot be told, so that the next look tells why."""
    rows = Conversation.objects.using(db.write_alias(Conversation)).filter(pk=conversation_id)
    try:
        return rows.values_list("epoch", "head").first() != state
    except errors.DATABASE_GONE:
        return True


def _read(conversation_id: int, cursor: Cursor | None) -> tuple[Snapshot, list[reader.Row]]:
    """The log's state and its next events after a cursor, without a hole. Raises NotFound."""
    tries = 0
    while True:
        snapshot = reader.snapshot(conversation_id)
        if snapshot is None:
            raise NotFound
        mode = snapshot.mode(cursor)
        if mode == "current":
            return snapshot, []
        after = cursor.seq if cursor is not None and mode == "resume" else 0
        rows = reader.page(conversation_id, after, snapshot.head, snapshot.mean_bytes)
        tries += 1
        # Trimming may overtake one look. Should it overtake all, then what is there is answered: the gap stands in
        # the next envelope, because a cursor below the floor is not honoured.
        if reader.whole(rows, after, snapshot.floor) or tries == _TRIES:
            return snapshot, rows


def envelope(
    conversation: str, snapshot: Snapshot, cursor: Cursor | None, rows: list[reader.Row], event_url: str
) -> str:
    """One replay envelope with `cursor`, where to go on, and `more`, whether there is more right now."""
    events: list[str] = []
    size, last = 0, None
    for seq, kind, body, body_size in rows:
        length = body_size + frames.SEQ_BYTES
        text = wire(seq, body)
        if length > settings.MAX_FRAME_BYTES:
            text = frames.by_reference(seq, kind, event_url)
            length = len(text.encode())
        size += length
        if events and size > ANSWER_BYTES:
            break
        events.append(text)
        last = seq
    mode = snapshot.mode(cursor)
    stands = snapshot.head if last is None else last
    head = {
        "type": "structured_replay",
        "v": 1,
        "conversation": conversation,
        "epoch": snapshot.epoch,
        "replay_id": uuid.uuid4().hex[:12],
        "mode": mode,
        "reset": mode == "full",
        "batch": 0,
        "last": True,
        "from": rows[0][0] if events else None,
        "to": last,
        "head": snapshot.head,
        "floor": snapshot.floor,
        "truncated": snapshot.gap is not None,
        "gap": snapshot.gap,
        "cursor": str(Cursor(snapshot.epoch, stands)),
        "more": stands < snapshot.head,
    }
    tail = {
        "run": snapshot.run,
        "pending": list(snapshot.pending),
        "partials": frames.fitting(snapshot.partials, ANSWER_BYTES),
    }
    return f'{frames.dumps(head)[:-1]},"events":[{",".join(events)}],{frames.dumps(tail)[1:]}'


def _event_url(request: Request, uid: str) -> str:
    """Where one event of this conversation is read, with `{seq}` in the place of its seq."""
    match = request.resolver_match
    address = reverse("crossmemory:event-detail", args=[uid, 0], current_app=match.namespace if match else None)
    return address.removesuffix("0/") + "{seq}/"
