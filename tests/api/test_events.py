"""The log over HTTP: everything once, in order, and at once when something happens."""

import asyncio
import json
import time
from typing import Any

import pytest
from django.db import connection
from django.test import AsyncClient, RequestFactory
from django.test.utils import CaptureQueriesContext
from rest_framework.test import force_authenticate

from crossmemory import broadcast, db, erase, log, turns
from crossmemory.api.events import EventLook
from crossmemory.events import Actor
from crossmemory.models import Conversation, Event, Message, Run
from tests.api.conftest import ROOT, Api, answered, said

pytestmark = pytest.mark.django_db(transaction=True)


def look(api: Api, chat: Conversation, cursor: str = "", query: str = "") -> dict[str, Any]:
    answer = api("get", f"conversations/{chat.uid}/events/?cursor={cursor}{query}")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    return dict(answer.json())


def test_the_first_look_is_the_whole_log(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    shown = look(api, chat)
    assert shown == {
        **shown,
        "type": "structured_replay",
        "v": 1,
        "conversation": str(chat.uid),
        "epoch": chat.epoch,
        "mode": "full",
        "reset": True,
        "batch": 0,
        "last": True,
        "from": 1,
        "to": 3,
        "head": 3,
        "floor": 2,
        "truncated": False,
        "gap": None,
        "run": "queued",
        "pending": [],
        "partials": [],
        "cursor": f"{chat.epoch}:3",
        "more": False,
    }
    assert [event["seq"] for event in shown["events"]] == [1, 2, 3]
    assert shown["events"][1]["data"]["text"] == "hello"


def test_later_looks_are_what_is_new(api: Api, chat: Conversation) -> None:
    first = look(api, chat)
    nothing = look(api, chat, first["cursor"])
    assert (nothing["mode"], nothing["events"], nothing["from"], nothing["to"]) == ("current", [], None, None)
    assert nothing["cursor"] == first["cursor"]
    answered(chat, "hello")
    new = look(api, chat, first["cursor"])
    assert (new["mode"], new["reset"], [event["seq"] for event in new["events"]]) == ("resume", False, [2])


@pytest.mark.parametrize("cursor", ["nonsense", "other:1", "{epoch}:99", "{epoch}:-1", "{epoch}:", "{epoch}:1x", ":1"])
def test_a_cursor_that_cannot_be_honoured_starts_again(api: Api, chat: Conversation, cursor: str) -> None:
    shown = look(api, chat, cursor.format(epoch=chat.epoch))
    assert (shown["mode"], shown["reset"], shown["from"]) == ("full", True, 1)


def test_text_being_written_is_there(api: Api, chat: Conversation) -> None:
    said(chat, "hello")
    run = turns.claim(Run.objects.get().pk, "test", lambda *_: None)
    assert run is not None
    message = turns.begin_answer(run, {}, "Good mor")
    shown = look(api, chat)
    assert (shown["run"], shown["partials"]) == ("running", [{"message": str(message.uid), "text": "Good mor"}])


def test_a_long_log_comes_in_answers_of_about_a_mebibyte(api: Api, chat: Conversation) -> None:
    for number in range(45):
        said(chat, f"{number} " + "x" * 60_000)
    seen: list[int] = []
    cursor, answers = "", 0
    while True:
        response = api("get", f"conversations/{chat.uid}/events/?cursor={cursor}")
        assert len(response.content) < 1_200_000
        shown = response.json()
        assert shown["reset"] is (answers == 0)
        answers += 1
        seen += [event["seq"] for event in shown["events"]]
        cursor = shown["cursor"]
        if not shown["more"]:
            break
    assert answers >= 3
    assert seen == list(range(1, shown["head"] + 1))


def test_a_trimmed_log_names_its_gap(api: Api, chat: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 10}
    for number in range(30):
        log.append_message(chat, log.NewMessage("user", Actor("user", "1"), f"message {number}"))
    log.trim(chat.pk)
    shown = look(api, chat)
    assert shown["truncated"] is True
    assert shown["gap"] == {**shown["gap"], "from": 2, "to": shown["floor"] - 1}
    assert [event["seq"] for event in shown["events"]] == [1, *range(shown["floor"], shown["head"] + 1)]
    assert look(api, chat, f"{shown['epoch']}:3")["mode"] == "full"


def test_an_event_too_large_for_a_frame_is_referred_to(api: Api, chat: Conversation) -> None:
    stored = answered(chat, "x" * 300_000)
    event = look(api, chat)["events"][1]
    assert event == {
        "seq": stored.seq,
        "type": "message.completed",
        "ref": f"{ROOT}conversations/{chat.uid}/events/{stored.seq}/",
    }
    whole = api("get", event["ref"])
    assert (whole.status_code, whole["Content-Type"]) == (200, "application/json")
    assert (whole.json()["seq"], len(whole.json()["data"]["text"])) == (stored.seq, 300_000)


@pytest.mark.parametrize("seq", ["99", "0", "x", "-1", "²", "9" * 20])
def test_an_event_that_is_not_there(api: Api, chat: Conversation, seq: str) -> None:
    assert api("get", f"conversations/{chat.uid}/events/{seq}/").status_code == 404


@pytest.mark.parametrize("wait", ["x", "-1", "nan", "inf"])
def test_a_wrong_wait_is_refused(api: Api, chat: Conversation, wait: str) -> None:
    answer = api("get", f"conversations/{chat.uid}/events/?wait={wait}")
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")


def test_without_asgi_nobody_waits(api: Api, chat: Conversation) -> None:
    began = time.monotonic()
    assert look(api, chat, f"{chat.epoch}:1", "&wait=20")["mode"] == "current"
    assert time.monotonic() - began < 5


def test_a_look_costs_the_same_however_much_there_is(chat: Conversation, user: Any) -> None:
    def queries() -> int:
        request = RequestFactory().get("/")
        force_authenticate(request, user)
        with CaptureQueriesContext(connection) as captured:
            assert EventLook.as_view()(request, uid=str(chat.uid)).status_code == 200
        return len(captured)

    before = queries()
    assert before == 3
    for number in range(20):
        answered(chat, f"answer {number}")
    assert queries() == before


class Waiting:
    """Somebody who waits for events over ASGI."""

    def __init__(self, user: Any) -> None:
        self.client = AsyncClient()
        self.client.force_login(user)

    async def look(self, chat: Conversation, seq: int, wait: float) -> Any:
        return await self.client.get(f"{ROOT}conversations/{chat.uid}/events/?cursor={chat.epoch}:{seq}&wait={wait}")


@pytest.fixture
def waiting(user: Any) -> Waiting:
    return Waiting(user)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    yield
    broadcast.stop()


async def until_listening(chat: Conversation) -> None:
    for _ in range(500):
        if broadcast.bus()._listeners.get(chat.pk):
            await asyncio.sleep(0.05)
            return
        await asyncio.sleep(0.01)
    raise AssertionError("Nobody listens.")


async def test_who_waits_is_told_at_once(waiting: Waiting, chat: Conversation) -> None:
    began = time.monotonic()
    answer = asyncio.create_task(waiting.look(chat, 1, 20))
    await until_listening(chat)
    await db.run(answered, chat, "hello")
    response = await answer
    assert response.status_code == 200
    shown = response.json()
    assert (shown["mode"], [event["seq"] for event in shown["events"]]) == ("resume", [2])
    assert time.monotonic() - began < 10
    assert not broadcast.bus()._listeners.get(chat.pk)


async def test_who_waits_in_vain_is_told_that_too(waiting: Waiting, chat: Conversation) -> None:
    began = time.monotonic()
    shown = (await waiting.look(chat, 1, 0.4)).json()
    assert (shown["mode"], shown["events"], shown["cursor"]) == ("current", [], f"{chat.epoch}:1")
    assert time.monotonic() - began >= 0.4


async def test_who_has_not_seen_everything_does_not_wait(waiting: Waiting, chat: Conversation) -> None:
    await db.run(answered, chat, "hello")
    began = time.monotonic()
    assert (await waiting.look(chat, 1, 20)).json()["mode"] == "resume"
    assert (await waiting.look(chat, 99, 20)).json()["mode"] == "full"
    assert time.monotonic() - began < 10


async def test_what_is_deleted_while_somebody_waits_is_gone(waiting: Waiting, chat: Conversation) -> None:
    answer = asyncio.create_task(waiting.look(chat, 1, 20))
    await until_listening(chat)
    await db.run(erase.conversation, chat)
    response = await answer
    assert (response.status_code, response.json()["code"]) == (404, "not_found")


async def test_redacting_tells_who_waits_to_start_again(waiting: Waiting, chat: Conversation) -> None:
    stored = await db.run(answered, chat, "secret")
    answer = asyncio.create_task(waiting.look(chat, stored.seq, 20))
    await until_listening(chat)
    message = await db.run(Message.objects.select_related("conversation").get, pk=stored.id)
    await db.run(log.redact, message, Actor("user", "1"))
    shown = (await answer).json()
    assert (shown["mode"], shown["reset"]) == ("full", True)
    assert "secret" not in json.dumps(shown)


async def test_many_can_wait_without_a_thread_each(waiting: Waiting, chat: Conversation) -> None:
    answers = [asyncio.create_task(waiting.look(chat, 1, 20)) for _ in range(40)]
    for _ in range(500):
        if len(broadcast.bus()._listeners.get(chat.pk, ())) == 40:
            break
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.1)
    began = time.monotonic()
    await db.run(Event.objects.count)  # all wait, and the database's threads are free
    assert time.monotonic() - began < 2
    await db.run(answered, chat, "hello")
    assert {response.json()["mode"] for response in await asyncio.gather(*answers)} == {"resume"}


async def test_who_hangs_up_leaves_nothing_behind(waiting: Waiting, chat: Conversation) -> None:
    answer = asyncio.create_task(waiting.look(chat, 1, 20))
    await until_listening(chat)
    answer.cancel()
    await asyncio.gather(answer, return_exceptions=True)
    assert not broadcast.bus()._listeners.get(chat.pk)


async def test_atomic_requests_does_not_keep_anybody_from_waiting(
    waiting: Waiting, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    assert (await waiting.look(chat, 1, 0.1)).status_code == 200
