"""One row of everything, full of words that only some may read."""

import io
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.urls import reverse
from django.utils import timezone

from crossmemory import attachments, log, turns
from crossmemory.events import SYSTEM
from crossmemory.models import DailyUse, LinkCode, Message, MessageRevision, Run
from crossmemory.models.guard import log_writes
from crossmemory.testing.factories import (
    AnsweredRunFactory,
    ConversationFactory,
    DeliveryFactory,
    InboundUpdateFactory,
    MessageFactory,
    PauseFactory,
    PollerFactory,
    PreferenceFactory,
    RunFactory,
    SurfaceLinkFactory,
)

WORD = "xylophone"
MODELS = [model for model in admin.site._registry if model._meta.app_label == "crossmemory"]


def nothing(*_: Any) -> None:
    pass


def make(user: Any, surface: str = "web") -> dict[type, Any]:
    """A row of every model, of this person; by model."""
    conversation = ConversationFactory(user=user, surface=surface, title=f"About my {WORD}")
    AnsweredRunFactory(conversation=conversation, question=f"Where is my {WORD}?", answer=f"Your {WORD} is **here**.")
    answer = Message.objects.get(conversation=conversation, role="assistant")
    waiting = RunFactory(conversation=conversation, question=f"And the other {WORD}?")
    run = turns.claim(waiting.pk, "test", nothing)
    assert run is not None
    writing = turns.begin_answer(run, {}, f"The other {WORD}")
    chunk = writing.chunks.get()
    failing = ConversationFactory(user=user, surface=surface, title=f"Trouble with my {WORD}")
    failed = turns.claim(RunFactory(conversation=failing, question=WORD).pk, "test", nothing)
    assert failed is not None
    turns.fail(failed, None, "agent_error", "Sorry.", f"Traceback …\nValueError: {WORD}\n", nothing)
    with log_writes():
        revision = MessageRevision.objects.create(message=answer, text=f"Old {WORD}", expires_at=timezone.now())
    link = SurfaceLinkFactory(user=user, account=str(user.pk))
    code = LinkCode.objects.create(
        user=user, surface="telegram", code_hash=f"{user.pk}", expires_at=timezone.now() + timedelta(minutes=5)
    )
    raw = f'{{"message": {{"text": "{WORD}"}}}}'.encode()
    inbound = InboundUpdateFactory(link=link, conversation=conversation, status="dead", error=WORD, raw=raw)
    rows = [
        conversation,
        answer,
        chunk,
        revision,
        conversation.events.get(seq=2),
        Run.objects.get(pk=failed.pk),
        link,
        code,
        PreferenceFactory(user=user),
        DailyUse.objects.create(user=user, tokens=5, resets_at=timezone.now()),
        inbound,
        DeliveryFactory(message=answer, status="failed", error="Bad Request", chat=str(user.pk)),
        PollerFactory(),
        PauseFactory(agent=f"of {user.pk}"),
        turns.call_tool(run, "search", {"for": WORD}),
        attachments.keep(conversation, io.BytesIO(WORD.encode()), name=f"{WORD}.txt"),
    ]
    log.open_afresh(conversation, SYSTEM)
    MessageFactory(conversation=conversation, text=f"My {WORD} again")
    return {type(row): row for row in rows}


def page(model: type, view: str, *args: Any) -> str:
    return reverse(f"admin:crossmemory_{model.__name__.lower()}_{view}", args=args)
