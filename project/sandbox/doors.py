"""JSON doors for programs (tests, the demo's scenes) and for the phone page. For one machine, without passwords."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from . import access, bots, fields, person, shapes, updates
from .errors import DoorError
from .formatting import storable
from .models import Bot, Chat, ChatMessage, Fault, Press

PAGE = 200  # messages that the phone shows at first
MOST = 1000  # messages in one answer of the outbox

Door = Callable[[HttpRequest], dict[str, Any]]


def door(*methods: str) -> Callable[[Door], Callable[[HttpRequest], JsonResponse]]:
    """Make a JSON view for ``methods`` of a function that returns an object or raises DoorError."""

    def decorate(function: Door) -> Callable[[HttpRequest], JsonResponse]:
        @csrf_exempt
        @wraps(function)
        def view(request: HttpRequest) -> JsonResponse:
            try:
                if refused := access.refusal(request):
                    raise DoorError(refused[1], refused[0])
                if request.method not in methods:
                    raise DoorError(f"use {' or '.join(methods)} here, not {request.method}", 405)
                return JsonResponse(function(request))
            except DoorError as error:
                return JsonResponse({"error": error.message}, status=error.status)

        return view

    return decorate


@door("POST")
def say(request: HttpRequest) -> dict[str, Any]:
    """``{"user_id", "text", "first_name"?, "language_code"?, "date"?, "times"?, "bot"?}``"""
    body = fields.body(request)
    said = person.say(
        chosen_bot(body),
        fields.needed(body, "user_id", least=1),
        fields.raw_text(body, "text"),
        first_name=fields.text(body, "first_name", longest=64),
        language_code=fields.text(body, "language_code", longest=16),
        date=fields.integer(body, "date", least=0),
        times=repeats(body),
    )
    return {"update_id": said.update_id, "message_id": said.message_id}


@door("POST")
def send(request: HttpRequest) -> dict[str, Any]:
    """Files, as a form: ``user_id``, ``file`` (one to ten), ``caption``?, ``bot``?"""
    values: dict[str, Any] = request.POST.dict()
    said = person.send(
        chosen_bot(values),
        fields.needed(values, "user_id", least=1),
        request.FILES.getlist("file"),
        fields.raw_text(values, "caption"),
    )
    return {"messages": [{"update_id": each.update_id, "message_id": each.message_id} for each in said]}


@door("POST")
def edit(request: HttpRequest) -> dict[str, Any]:
    """``{"user_id", "message_id", "text", "bot"?}``"""
    body = fields.body(request)
    user_id, message_id = fields.needed(body, "user_id"), fields.needed(body, "message_id")
    said = person.edit(chosen_bot(body), user_id, message_id, fields.raw_text(body, "text"))
    return {"update_id": said.update_id, "message_id": said.message_id}


@door("POST")
def press(request: HttpRequest) -> dict[str, Any]:
    """``{"user_id", "message_id", "data", "bot"?}``"""
    body = fields.body(request)
    user_id, message_id = fields.needed(body, "user_id"), fields.needed(body, "message_id")
    said, query = person.press(chosen_bot(body), user_id, message_id, fields.text(body, "data"))
    return {"update_id": said.update_id, "callback_query_id": str(query)}


@door("POST")
def block(request: HttpRequest) -> dict[str, Any]:
    """``{"user_id", "blocked"?, "bot"?}``"""
    body = fields.body(request)
    user_id = fields.needed(body, "user_id", least=1)
    return {"update_id": person.block(chosen_bot(body), user_id, fields.boolean(body, "blocked", True))}


@door("POST")
def update(request: HttpRequest) -> dict[str, Any]:
    """A raw Update object, with ``?times=`` and ``?bot=`` in the address; a given ``update_id`` is kept, also again."""
    body = fields.body(request)
    query: dict[str, Any] = request.GET.dict()
    bot, times = chosen_bot(query), repeats(query)
    update_id = fields.integer(body, "update_id", least=0, most=2**62)
    if not set(body) - {"update_id"}:
        raise DoorError("an update needs at least one field beside update_id, such as message")
    person.note(bot, body)
    if update_id is None:
        update_id = updates.put(bot, body, times=times)
    else:
        updates.put_as(bot, update_id, body, times=times)
    return {"update_id": update_id}


@door("GET")
def outbox(request: HttpRequest) -> dict[str, Any]:
    """What the bot sent, oldest first: ``?chat_id=&after=<message_id>&limit=&bot=``; the newest when more would fit."""
    query: dict[str, Any] = request.GET.dict()
    limit = fields.integer(query, "limit", least=1, most=MOST, default=MOST) or MOST
    rows = ChatMessage.objects.filter(chat__bot=chosen_bot(query), direction=ChatMessage.Direction.OUT, deleted=False)
    if (chat_id := fields.integer(query, "chat_id")) is not None:
        rows = rows.filter(chat__chat_id=chat_id)
    if (after := fields.integer(query, "after")) is not None:
        rows = rows.filter(message_id__gt=after)
    found = newest(rows, limit + 1)
    return {"messages": [shapes.seen(row) for row in found[-limit:]], "more": len(found) > limit}


@door("POST", "DELETE")
def fault(request: HttpRequest) -> dict[str, Any]:
    """``{"method", "status"?, "retry_after"?, "times"?, "delay"?, "drop"?, "chat_id"?, …}``; DELETE clears all."""
    if request.method == "DELETE":
        return {"cleared": Fault.objects.all().delete()[0]}
    body = fields.body(request)
    row = Fault(
        method=(fields.text(body, "method", longest=64) or "*").lower(),
        chat_id=fields.integer(body, "chat_id"),
        status=fields.integer(body, "status", least=400, most=599),
        description=fields.text(body, "description", longest=255),
        retry_after=fields.integer(body, "retry_after", least=0, most=86400),
        migrate_to_chat_id=fields.integer(body, "migrate_to_chat_id"),
        times=None if body.get("times", 1) is None else fields.integer(body, "times", least=1, most=10**6, default=1),
        delay=fields.seconds(body, "delay"),
        drop=fields.text(body, "drop"),
    )
    if row.drop not in Fault.Drop.values:
        raise DoorError(f"drop must be one of {', '.join(filter(None, Fault.Drop.values))}, not {row.drop!r}")
    if (row.status, row.retry_after, row.migrate_to_chat_id) == (None, None, None) and not (row.delay or row.drop):
        raise DoorError("a fault needs a status, retry_after, migrate_to_chat_id, delay or drop")
    row.save()
    return {"fault": described(row)}


@door("GET")
def faults(request: HttpRequest) -> dict[str, Any]:
    """What is planned still, oldest first."""
    rows = Fault.objects.exclude(times=0).order_by("id")
    return {"faults": [described(row) for row in rows]}


@door("GET")
def chat(request: HttpRequest) -> dict[str, Any]:
    """Both directions of one chat: ``?chat_id=&since=<version>&bot=``; with ``since`` only what changed after it."""
    query: dict[str, Any] = request.GET.dict()
    bot, chat_id = chosen_bot(query), fields.needed(query, "chat_id")
    since = fields.integer(query, "since", default=0) or 0
    row = Chat.objects.filter(bot=bot, chat_id=chat_id).first()
    if row is None:
        return {"bot": named(bot), "version": 0, "messages": [], "more": False, **quiet()}
    # The version is read before the rows: what comes in between is sent once more, never missed.
    rows = ChatMessage.objects.filter(chat=row, version__gt=since)
    found = newest(rows if since else rows.filter(deleted=False), PAGE + 1 if not since else MOST)
    answers = Press.objects.filter(chat=row, answered=True, version__gt=since).order_by("version") if since else []
    return {
        "bot": named(bot),
        "version": row.version,
        "messages": [shapes.seen(message) for message in (found if since else found[-PAGE:])],
        "more": not since and len(found) > PAGE,
        **state(row),
        "answers": [
            {"callback_query_id": str(p.pk), "message_id": p.message_id, "text": p.text, "alert": p.show_alert}
            for p in answers
        ],
    }


def newest(rows: QuerySet[ChatMessage], count: int) -> list[ChatMessage]:
    """The last ``count`` of ``rows``, oldest first."""
    return list(rows.select_related("chat", "file").defer("file__content").order_by("-message_id", "-id")[:count])[::-1]


def state(row: Chat) -> dict[str, Any]:
    """What the chat shows beside its messages, as of now."""
    now = timezone.now()
    return {
        "blocked": row.blocked,
        "action": row.action if row.action_until and row.action_until > now else None,
        "draft": row.draft if row.draft_until and row.draft_until > now else None,
    }


def quiet() -> dict[str, Any]:
    return {"blocked": False, "action": None, "draft": None, "answers": []}


def named(bot: Bot) -> dict[str, Any]:
    commands = bot.commands.get("all_private_chats:") or bot.commands.get("default:") or []
    return {"id": bot.pk, "username": bot.username, "first_name": bot.first_name, "commands": commands}


def described(row: Fault) -> dict[str, Any]:
    names = [
        "id",
        "method",
        "chat_id",
        "status",
        "description",
        "retry_after",
        "migrate_to_chat_id",
        "times",
        "delay",
        "drop",
    ]
    return {name: getattr(row, name) for name in names}


def chosen_bot(values: dict[str, Any]) -> Bot:
    wanted = values.get("bot")
    return bots.choose("" if wanted is None else str(storable(str(wanted))))


def repeats(values: dict[str, Any]) -> int:
    return fields.integer(values, "times", least=1, most=100, default=1) or 1
