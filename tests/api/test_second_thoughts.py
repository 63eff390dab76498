"""Editing, deleting, asking again, and deciding about tools over REST."""

from typing import Any

import pytest
from asgiref.sync import async_to_sync

from crossmemory.agents import NeedsApproval, Request
from crossmemory.models import Conversation, Event, Message, Run, ToolCall
from crossmemory.runs import engine
from tests.api.conftest import Api, answered, said
from tests.support.runner import ScriptedAgent

pytestmark = pytest.mark.django_db(transaction=True)


def one(api: Api, chat: Conversation, message: Any, method: str, body: Any = None) -> Any:
    return api(method, f"conversations/{chat.uid}/messages/{message}/", body)


def test_own_words_can_be_edited_and_answers_cannot(api: Api, chat: Conversation) -> None:
    mine, theirs = said(chat, "helo"), answered(chat, "hi")
    answer = one(api, chat, mine.uid, "patch", {"text": "hello"})
    assert (answer.status_code, answer.json()["text"]) == (200, "hello")
    assert one(api, chat, theirs.uid, "patch", {"text": "x"}).status_code == 403
    assert one(api, chat, mine.uid, "patch", {"text": " "}).json()["code"] == "empty"
    assert Event.objects.filter(type="message.edited").count() == 1


def test_words_of_another_surface_are_edited_there(api: Api, phone: Conversation) -> None:
    mine = said(phone, "helo")
    assert one(api, phone, mine.uid, "patch", {"text": "hello"}).json()["code"] == "read_only_here"


def test_a_message_can_be_deleted(api: Api, chat: Conversation) -> None:
    mine = said(chat, "my secret")
    assert one(api, chat, mine.uid, "delete").status_code == 204
    assert one(api, chat, mine.uid, "delete").status_code == 204
    assert Message.objects.get().text == ""
    assert not Event.objects.filter(body__contains="my secret").exists()
    assert one(api, chat, "6f8a1c7e-0000-4000-8000-000000000000", "delete").status_code == 404


def test_an_answer_can_be_asked_for_again(api: Api, chat: Conversation) -> None:
    again = f"conversations/{chat.uid}/again/"
    assert api("post", again, {}).json() == {"queued": False}
    said(chat, "hello")
    async_to_sync(engine.run_waiting)("w")
    assert api("post", again, {}).json() == {"queued": True}
    assert api("post", again, {}).json() == {"queued": False}
    assert Run.objects.filter(status="queued").count() == 1


def test_a_tool_is_decided_about_once(api: Api, chat: Conversation, script: type[ScriptedAgent]) -> None:
    async def asks(context: Any) -> Any:
        if not context.decisions:
            yield NeedsApproval([Request("ring", {"times": 3})])
        else:
            yield f"approved: {context.decisions[0].approved}"

    script.script = asks
    said(chat, "ring")
    async_to_sync(engine.run_waiting)("w")
    call = ToolCall.objects.get()
    address = f"conversations/{chat.uid}/approvals/{call.uid}/"
    wrong = api("post", address, {"decision": "approved", "args_hash": "0"})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "hash")
    assert api("post", address, {"decision": "maybe", "args_hash": call.args_hash}).status_code == 400
    right = api("post", address, {"decision": "approved", "args_hash": call.args_hash})
    assert right.json() == {"tool_call": str(call.uid), "decision": "approved"}
    late = api("post", address, {"decision": "denied", "args_hash": call.args_hash})
    assert late.status_code == 409
    assert {**late.json(), "detail": "", "at": ""} == {
        "code": "already_decided",
        "detail": "",
        "decision": "approved",
        "by": str(chat.user_id),
        "where": "web",
        "at": "",
    }
    async_to_sync(engine.run_waiting)("w")
    assert Message.objects.get(role="assistant").text == "approved: True"
