"""Factories for tests, with any user model. History is written by the log itself, as in real life.

>>> MessageFactory(conversation__user=ana, text="My bike is red.")
>>> AnsweredRunFactory(question="What colour is my bike?", answer="Red.")
"""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import factory
from django.conf import settings
from django.db import models
from django.utils import timezone
from factory.django import DjangoModelFactory

from crossmemory import log, memory, turns
from crossmemory.events import Actor
from crossmemory.log import NewMessage, QueueRun
from crossmemory.models import (
    DEFAULT_AGENT,
    Conversation,
    Delivery,
    InboundUpdate,
    Message,
    Owner,
    Pause,
    Poller,
    Preference,
    Run,
    SurfaceLink,
)

if TYPE_CHECKING:
    _Factory = DjangoModelFactory[Any]
else:
    _Factory = DjangoModelFactory

declare: Any = factory  # its declarations carry no types


class UserFactory(_Factory):
    """A person. The user name field and the required fields get values that fit; the password is `demo`."""

    class Meta:
        model = settings.AUTH_USER_MODEL

    number = declare.Sequence(int)
    password = "demo"

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        number, password = kwargs.pop("number"), kwargs.pop("password")
        for name in (model_class.USERNAME_FIELD, *model_class.REQUIRED_FIELDS):
            kwargs.setdefault(name, _fitting(model_class._meta.get_field(name), number))
        user = model_class(*args, **kwargs)
        user.set_password(password)
        user.save()
        return user


def _fitting(field: "models.Field[Any, Any]", number: int) -> Any:
    if isinstance(field, models.EmailField):
        return f"person{number}@example.com"
    if isinstance(field, models.IntegerField):
        return number
    return f"person{number}"


class ConversationFactory(_Factory):
    """A conversation with its anchor; a singleton where `singleton=True`."""

    class Meta:
        model = Conversation

    user = declare.SubFactory(UserFactory)
    tenant = ""
    agent = DEFAULT_AGENT
    surface = "web"
    title = ""
    singleton = False
    shared = True
    reads = True

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        owner = Owner(kwargs.pop("user").pk, kwargs.pop("tenant"), kwargs.pop("agent"))
        return log.create(owner, **kwargs)


class MessageFactory(_Factory):
    """A stored message with its event: a person's, or with `role="assistant"` an answer. No run is queued."""

    class Meta:
        model = Message

    conversation = declare.SubFactory(ConversationFactory)
    role = "user"
    text = declare.Sequence(lambda number: f"message {number}")
    client_id = None
    sent_at = None
    turn = None

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        conversation, role = kwargs.pop("conversation"), kwargs.pop("role")
        stored = log.append_message(conversation, NewMessage(role, _author(conversation, role), **kwargs))
        return Message.objects.get(pk=stored.id)


class RunFactory(_Factory):
    """A question and the queued run that will answer it."""

    class Meta:
        model = Run

    conversation = declare.SubFactory(ConversationFactory)
    question = "What do you remember?"
    destination = None

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        conversation = kwargs["conversation"]
        message = NewMessage("user", _author(conversation, "user"), kwargs["question"])
        stored = log.append_message(conversation, message, QueueRun(conversation.agent, kwargs["destination"]))
        if stored.run_id is None:
            raise ValueError("A run is queued in this conversation already: the question joined it.")
        return Run.objects.get(pk=stored.run_id)


class AnsweredRunFactory(RunFactory):
    """A question with its answer: claimed, with the real manifest of what was remembered, and completed."""

    answer = "I do not know."

    @classmethod
    def _create(cls, model_class: Any, *args: Any, **kwargs: Any) -> Any:
        answer = kwargs.pop("answer")
        waiting = super()._create(model_class, *args, **kwargs)
        run = turns.claim(waiting.pk, "factory", _nothing_goes_out)
        assert run is not None
        context = memory.build_context(run.conversation, trigger=run.trigger)
        turns.note_context(run, context.manifest.as_json(), context.window_start)
        turns.complete(
            run,
            None,
            answer,
            saw=context.manifest.summary(),
            degraded=False,
            usage=None,
            outgoing=_nothing_goes_out,
        )
        return Run.objects.get(pk=run.pk)


class SurfaceLinkFactory(_Factory):
    """An active connected account."""

    class Meta:
        model = SurfaceLink

    user = declare.SubFactory(UserFactory)
    surface = "telegram"
    account = "7000000001"
    external_id = declare.Sequence(lambda number: str(5001 + number))
    chat = declare.SelfAttribute("external_id")
    status = SurfaceLink.Status.ACTIVE


class InboundUpdateFactory(_Factory):
    """An update that waits to be handled."""

    class Meta:
        model = InboundUpdate

    surface = "telegram"
    account = "7000000001"
    external_id = declare.Sequence(lambda number: str(300_000_001 + number))
    kind = "message"
    raw = b'{"update_id": 1}'


class DeliveryFactory(_Factory):
    """One piece of an assistant's message that waits to go out."""

    class Meta:
        model = Delivery

    message = declare.SubFactory(MessageFactory, role="assistant")
    conversation = declare.SelfAttribute("message.conversation")
    surface = "telegram"
    account = "7000000001"
    chat = "5001"
    payload = declare.LazyAttribute(lambda piece: {"text": piece.message.text if piece.message else "notice"})


class PollerFactory(_Factory):
    """A bot that a process polls."""

    class Meta:
        model = Poller

    surface = "telegram"
    account = declare.Sequence(lambda number: str(7_000_000_001 + number))
    state = Poller.State.OK
    lease_until = declare.LazyFunction(lambda: timezone.now() + timedelta(seconds=20))


class PauseFactory(_Factory):
    """Everything is paused, or what is named by `surface` and `agent`."""

    class Meta:
        model = Pause


class PreferenceFactory(_Factory):
    class Meta:
        model = Preference

    user = declare.SubFactory(UserFactory)
    language = "en"


def _author(conversation: Conversation, role: str) -> Actor:
    return Actor("user", str(conversation.user_id)) if role == "user" else Actor("agent", conversation.agent)


def _nothing_goes_out(run: Run, message: Message | None, text: str) -> None:
    """Stands for the outbox."""
