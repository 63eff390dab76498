"""Nobody reaches what belongs to somebody else, at any address: other people, other tenants, other assistants.

The addresses come from the urlconf, so that a new one is covered from its first day.
"""

import io
from dataclasses import dataclass
from typing import Any

import pytest
from django.db import models

from crossmemory import attachments, log, memory
from crossmemory.api import urls
from crossmemory.models import (
    Conversation,
    Event,
    LinkCode,
    Message,
    Owner,
    Run,
    SurfaceLink,
    ToolCall,
)
from tests.api.conftest import ROOT, Api, answered, said

pytestmark = pytest.mark.django_db(transaction=True)

METHODS = {"get": None, "post": {}, "patch": {}, "delete": None, "put": {}, "head": None}
BODY = {
    "client_id": "c1",
    "text": "intruder",
    "seq": 3,
    "title": "intruder",
    "shared": False,
    "reads": False,
    "sharing": "separate",
    "decision": "approved",
    "args_hash": "x",
    "surface": "telegram",
    "left_out": True,
}
NAMES = [each.name or "" for each in urls.urlpatterns]


@dataclass
class Belongings:
    """Everything a person can have, with marks to find it by."""

    ids: dict[str, str]  # by kind: the id that addresses of that kind carry
    marks: list[str]  # what no answer to anybody else may hold


def belongings(user: Any, agent: str, mark: str) -> Belongings:
    owner = Owner.of(user, agent)
    chat = log.create(owner, "web", f"{mark} title")
    phone = log.get_or_create_singleton(owner, "telegram", "[Telegram]")
    said(phone, f"{mark} on the phone")
    said(chat, f"{mark} question", "c1")
    run = Run.objects.get(conversation=chat)
    Run.objects.filter(pk=run.pk).update(manifest=memory.build_context(chat).manifest.as_json())
    answered(chat, f"{mark} answer", run)
    link = SurfaceLink.objects.create(
        user=user,
        tenant=owner.tenant,
        surface="telegram",
        account=mark,
        external_id=mark,
        name=f"{mark} name",
        status="pending",
    )
    call = ToolCall.objects.create(conversation=chat, run=run, name=mark, status="requested", args_hash="x")
    file = attachments.keep(chat, io.BytesIO(mark.encode()), name=f"{mark}.txt")
    ids = {
        "attachments": str(file.uid),
        "conversations": str(chat.uid),
        "runs": str(run.uid),
        "accounts": str(link.uid),
        "messages": str(Message.objects.get(conversation=chat, role="user").uid),
        "approvals": str(call.uid),
    }
    return Belongings(ids, [mark, *ids.values(), str(phone.uid)])


def address(name: str, ids: dict[str, str]) -> str:
    pattern = next(str(each.pattern) for each in urls.urlpatterns if each.name == name)
    return ROOT + pattern.replace(
        "<str:uid>", ids[pattern.partition("/")[0]] if "<str:uid>" in pattern else ""
    ).replace("<str:seq>", "2").replace("<str:message>", ids["messages"]).replace("<str:tool_call>", ids["approvals"])


def state() -> list[list[tuple[Any, ...]]]:
    """Everything that is stored, but for what the intruder makes for themselves."""
    kinds: list[type[models.Model]] = [Conversation, Message, Event, Run, SurfaceLink, ToolCall]
    return [list(kind._default_manager.order_by("pk").values_list()) for kind in kinds]


def check(intruder: Api, name: str, theirs: Belongings, query: str = "") -> None:
    """Whatever the intruder tries at an address of somebody else's, it is as if nothing were there."""
    found, unknown = address(name, theirs.ids), address(name, dict.fromkeys(theirs.ids, "no-id"))
    missing = address(name, dict.fromkeys(theirs.ids, "6f8a1c7e-0000-4000-8000-000000000000"))
    before = state()
    for method in METHODS:
        body = BODY if method in ("post", "patch", "put") else None
        answers = [intruder(method, each + query, body) for each in (found, missing, unknown)]
        if found != missing:
            assert answers[0].status_code in (404, 405), (method, found)
            assert len({(each.status_code, each.content) for each in answers}) == 1
        for mark in theirs.marks:
            assert mark.encode() not in answers[0].content
    if found != missing or name != "conversation-list":
        assert state() == before
    LinkCode.objects.all().delete()


@pytest.mark.parametrize("name", NAMES)
def test_another_persons_things_are_not_there(name: str, user: Any, other: Any) -> None:
    theirs = belongings(user, "default", "anasmark")
    check(Api(other), name, theirs)


@pytest.mark.parametrize("name", NAMES)
def test_another_tenants_things_are_not_there(name: str, user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "TENANT": "tests.api.conftest.tenant"}
    theirs = belongings(user, "default", "anasmark")
    user.last_name = "elsewhere"
    user.save()
    check(Api(user), name, theirs)


@pytest.mark.parametrize("query", ["surface=telegram", "surface=web", "conversation={chat}"])
def test_previews_are_made_of_ones_own_only(user: Any, other: Any, query: str) -> None:
    belongings(user, "default", "anasmark")
    bens = belongings(other, "default", "bensmark")
    answer = Api(other)("get", f"context/?{query.format(chat=bens.ids['conversations'])}")
    assert answer.status_code == 200
    assert b"anasmark" not in answer.content


def test_anothers_conversation_cannot_be_previewed(user: Any, stranger: Api) -> None:
    theirs = belongings(user, "default", "anasmark")
    assert stranger("get", f"context/?conversation={theirs.ids['conversations']}").status_code == 404


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ("account-list", "account-detail")])
def test_assistants_of_one_person_stay_apart(name: str, user: Any) -> None:
    """A person may read what they told another assistant, but no assistant's things show the other's."""
    poets = belongings(user, "poet", "poetsmark")
    plans = belongings(user, "default", "plansmark")
    api = Api(user)
    queries = {
        "conversation-list": ["?agent=default"],
        "context": ["?surface=telegram", f"?conversation={plans.ids['conversations']}"],
    }
    for query in queries.get(name, [""]):
        answer = api("get", address(name, plans.ids) + query)
        assert answer.status_code in ((406,) if name == "event-stream" else (200, 405))  # a stream needs ASGI
        shown = answer.getvalue()
        for mark in poets.marks:
            assert mark.encode() not in shown
