"""Who and what the measurements find in the database: users, sign-ins, conversations and long histories."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.apps import apps
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY, get_user_model
from django.contrib.sessions.backends.db import SessionStore
from django.db import connection, transaction
from django.utils import timezone

from crossmemory import log
from crossmemory.events import Actor, MessageCompleted, encode
from crossmemory.log.entries import size
from crossmemory.models import Conversation, Event, Message, Owner
from crossmemory.models.guard import log_writes

Kind = Literal["ordinary", "quiet", "unshared"]

_WORDS = """
the dentist moved us to thursday at nine so please remind me to bring the forms and call anna about dinner before seven
el médico nos espera el jueves después de comer así que compra pan leche y también café para mañana porque viene la tía
train ticket platform eleven window seat hotel garden view breakfast included allergy peanuts birthday blue bicycle lock
reunión informe oficina calle número teléfono próximo lunes avión maleta llave puerta jardín perro gato música canción
"""


def person(name: str) -> Any:
    """The user called `name`, made on first use."""
    return get_user_model().objects.get_or_create(username=name)[0]


def signed_in(user: Any) -> str:
    """The key of a session in which the user is signed in."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def fresh_conversations(user: Any, count: int) -> list[Conversation]:
    """New conversations as `log.create` makes them, without the wait (their anchors have no body)."""
    now = timezone.now()
    made = Conversation.objects.bulk_create(
        [
            Conversation(user=user, surface="web", title="Bench", created_at=now, updated_at=now, head=1, kept_events=1)
            for _ in range(count)
        ]
    )
    with log_writes():
        Event.objects.bulk_create(
            [
                Event(conversation=conversation, seq=1, type="conversation.created", body="{}", bytes=2)
                for conversation in made
            ]
        )
    return made


def history(user: Any, count: int, kind: Kind) -> None:
    """`count` messages in ten conversations of the secondary surface.

    ordinary: all feed memory, one a minute until now. quiet: the same, a month ago. unshared: the newest `count`
    messages are kept out of memory, and 16 older ones, of the same day, feed it.
    """
    places = [log.create(Owner.of(user), "telegram", f"{kind} {number}").pk for number in range(10)]
    if kind == "unshared":
        _insert(user, places, 0, 16, "now() - interval '2 hours'", shared=True)
        _insert(user, places, 16, count, f"now() - interval '1 hour' * (1 - (n - 16) / {count}.0)", shared=False)
    else:
        since = "now() - interval '30 days'" if kind == "quiet" else "now()"
        _insert(user, places, 0, count, f"{since} - interval '1 minute' * ({count} - n)", shared=True)


def _insert(user: Any, places: Sequence[int], start: int, count: int, at: str, *, shared: bool) -> None:
    table = connection.ops.quote_name(Message._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            f"""
            INSERT INTO {table} (uid, conversation_id, owner_id, tenant, agent, seq, turn, role, author_kind, author_id,
                text, shared, status, steer, client_hash, created_at)
            SELECT lpad(to_hex(%s::bigint * 16777216 + n), 32, '0')::uuid, (%s::bigint[])[1 + n %% 10], %s, '',
                'default', 2 + n / 10, 2 + n / 10, 'user', 'user', %s,
                'Message ' || n || ': the dentist moved us to Thursday at nine, bring the forms.', %s, 'complete', '',
                '', {at}
            FROM generate_series(%s::bigint, %s::bigint) n""",
            [user.pk, list(places), user.pk, str(user.pk), shared, start, start + count - 1],
        )


@dataclass(frozen=True)
class Recorded:
    """A conversation with a log."""

    conversation: Conversation
    bytes: int


def recorded(user: Any, events: int, body_bytes: int = 800) -> Recorded:
    """A conversation with a log of so many events of about so many bytes, encoded as the app does it.

    The texts are words in random order, always the same: a few have accents, and they compress about as prose does.
    """
    conversation = log.create(Owner.of(user), "web", "Bench")
    actor, at = Actor("user", str(user.pk)), timezone.now()
    words, chance = _WORDS.split(), random.Random(1)
    rows, total = [], conversation.kept_bytes
    for seq in range(2, events + 1):
        text = " ".join(chance.choices(words, k=body_bytes // 4))[: body_bytes - 270]
        data = MessageCompleted(message=f"00000000-0000-4000-8000-{seq:012d}", role="user", text=text)
        body = encode(data, at=at, actor=actor, surface="web", client_id=f"00000000-0000-4000-9000-{seq:012d}")
        total += size(body)
        rows.append(
            Event(
                conversation=conversation,
                seq=seq,
                type=data.type,
                opens_turn=True,
                body=body,
                bytes=size(body),
                created_at=at,
            )
        )
    with transaction.atomic(), log_writes():
        Event.objects.bulk_create(rows, batch_size=1000)
        Conversation.objects.filter(pk=conversation.pk).update(head=events, kept_events=events, kept_bytes=total)
    conversation.refresh_from_db()
    return Recorded(conversation, total)


def analyze() -> None:
    """Let the planner know what is there."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")


def clear() -> None:
    """Leave nothing to the next measurement: no history, and above all no queued runs for its servers."""
    tables = [
        connection.ops.quote_name(model._meta.db_table) for model in apps.get_app_config("crossmemory").get_models()
    ]
    with connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {', '.join(tables)} CASCADE")
