from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from crossmemory import intake, log
from crossmemory.events import Actor
from crossmemory.log import NewMessage, Stored
from crossmemory.models import Conversation, Owner, Run

ROOT = "/api/crossmemory/"


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.api.urls"
    cache.clear()


def tenant(user: Any) -> str:
    """The TENANT setting of tests: a person's last name."""
    return str(user.last_name)


class Api:
    """A signed-in browser that speaks JSON."""

    def __init__(self, user: Any, **options: Any) -> None:
        self.client = Client(**options)
        self.client.force_login(user)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        path = path if path.startswith("/") else ROOT + path
        data = {} if body is None else {"data": body, "content_type": "application/json"}
        return getattr(self.client, method)(path, **data, headers=headers or None)


@pytest.fixture
def api(user: Any) -> Api:
    return Api(user)


@pytest.fixture
def chat(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


@pytest.fixture
def phone(user: Any) -> Conversation:
    return log.get_or_create_singleton(Owner.of(user), "telegram", "[Telegram]")


@pytest.fixture
def stranger(other: Any) -> Api:
    return Api(other)


def said(conversation: Conversation, text: str, client_id: str | None = None) -> Stored:
    """The person says something, and a run waits to answer it."""
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)), client_id=client_id)


def answered(conversation: Conversation, text: str, run: Run | None = None) -> Stored:
    return log.append_message(conversation, NewMessage("assistant", Actor("agent", conversation.agent), text, run=run))
