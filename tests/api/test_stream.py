"""The log as Server-Sent Events: the socket's frames, each with the place a client can go on from."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import AsyncClient
from rest_framework.authtoken.models import Token

from crossmemory import broadcast, db, erase, log
from crossmemory.api import stream
from crossmemory.events import Actor
from crossmemory.models import Conversation, Event, Message, Run
from crossmemory.runs import engine
from tests.api.conftest import ROOT, Api, answered, said
from tests.support.reader import Reader, reading
from tests.support.runner import ScriptedAgent, eventually, slowly

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def quiet() -> Any:
    yield
    broadcast.stop()
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()  # where AsyncClient signs in


async def test_what_was_said_then_what_happens(user: Any, chat: Conversation) -> None:
    await db.run(said, chat, "hello\r\nthere\u2028")
    async with reading(user, chat) as reader:
        assert (reader.status, reader.headers["content-type"]) == (200, "text/event-stream")
        assert "no-store" in reader.headers["cache-control"]
        assert reader.headers["x-accel-buffering"] == "no"
        replay = await reader.event()
        assert replay is not None
        assert (replay["event"], replay["id"]) == ("structured_replay", f"{chat.epoch}:3")
        assert (replay["data"]["mode"], replay["data"]["last"], replay["data"]["run"]) == ("full", True, "queued")
        assert replay["data"]["events"][1]["data"]["text"] == "hello\r\nthere\u2028"
        await db.run(answered, chat, "hi")
        event = await reader.event()
        assert event is not None
        assert (event["event"], event["id"]) == ("event", f"{chat.epoch}:4")
        assert event["data"]["event"]["data"]["text"] == "hi"


async def test_streamed_text_comes_as_deltas(user: Any, chat: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = lambda context: slowly("Good ", "morning, ", "Ana.")
    await db.run(said, chat, "hello")
    async with reading(user, chat) as reader:
        await reader.event()
        running = asyncio.create_task(engine.run_waiting("w"))
        text, last = "", None
        while not (last and last["data"].get("event", {}).get("type") == "run.completed"):
            last = await reader.event()
            assert last is not None
            if last["event"] == "delta":
                assert last["id"] is None
                assert last["data"]["offset"] == len(text)
                text += last["data"]["text"]
        await running
    assert "Good morning, Ana.".startswith(text)
    assert text


async def test_last_event_id_beats_the_cursor(user: Any, chat: Conversation) -> None:
    await db.run(said, chat, "hello")
    async with reading(user, chat, f"?cursor={chat.epoch}:3") as reader:
        replay = await reader.event()
        assert replay is not None
        assert (replay["data"]["mode"], replay["id"]) == ("current", f"{chat.epoch}:3")
    async with reading(user, chat, f"?cursor={chat.epoch}:3", **{"Last-Event-ID": f"{chat.epoch}:1"}) as reader:
        replay = await reader.event()
        assert replay is not None
        assert [event["seq"] for event in replay["data"]["events"]] == [2, 3]


async def test_every_id_is_where_the_client_stands(user: Any, chat: Conversation) -> None:
    def fill() -> None:
        for number in range(30):
            answered(chat, f'{number} "last":true,"to":9,"head":9 ' + "x" * 20_000)

    await db.run(fill)
    async with reading(user, chat) as reader:
        batches = []
        while not batches or not batches[-1]["data"]["last"]:
            batch = await reader.event()
            assert batch is not None
            batches.append(batch)
    assert len(batches) > 2
    for batch in batches:
        data = batch["data"]
        assert batch["id"] == f"{chat.epoch}:{data['head'] if data['last'] else data['to']}"


async def test_a_long_stream_ends_and_goes_on_where_it_was(
    user: Any, chat: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "_MOST_BYTES", 300_000)

    def fill() -> None:
        for number in range(60):
            answered(chat, f"{number} " + "x" * 20_000)

    await db.run(fill)
    seen: list[int] = []
    place, streams = "", 0
    while len(seen) < 61:
        headers = {"Last-Event-ID": place} if place else {}
        async with reading(user, chat, **headers) as reader:
            streams += 1
            while len(seen) < 61 and (event := await reader.event()) is not None:
                seen += [each["seq"] for each in event["data"]["events"]]
                place = event["id"]
            assert reader.given < 900_000
    assert seen == list(range(1, 62))
    assert streams > 2


async def test_redacting_starts_again(user: Any, chat: Conversation) -> None:
    stored = await db.run(answered, chat, "secret")
    async with reading(user, chat) as reader:
        await reader.event()
        message = await db.run(Message.objects.select_related("conversation").get, pk=stored.id)
        await db.run(log.redact, message, Actor("user", "1"))
        replay = await reader.event()
        assert replay is not None
        assert (replay["event"], replay["data"]["reset"]) == ("structured_replay", True)
        assert "secret" not in json.dumps(replay)


@pytest.fixture
def often(settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PING_SECONDS": 0.2}


@pytest.mark.usefixtures("often")
async def test_who_stays_signed_in_stays(user: Any, chat: Conversation) -> None:
    async with reading(user, chat) as reader:
        await reader.event()
        await asyncio.sleep(1)
        assert b"event: ping" in b"".join(reader._chunks._queue)  # type: ignore[attr-defined]
        await db.run(answered, chat, "still here")
        event = await reader.event()
        assert event is not None
        assert event["data"]["event"]["data"]["text"] == "still here"


@pytest.mark.usefixtures("often")
@pytest.mark.parametrize("how", ["signed out", "deactivated", "conversation deleted"])
async def test_who_may_no_longer_read_is_cut_off(user: Any, chat: Conversation, how: str) -> None:
    def lose() -> None:
        if how == "signed out":
            Session.objects.all().delete()
        elif how == "deactivated":
            type(user).objects.update(is_active=False)
        else:
            erase.conversation(chat)

    async with reading(user, chat) as reader:
        await reader.event()
        await db.run(lose)
        await asyncio.wait_for(reader.end(), 5)


@pytest.mark.usefixtures("often")
async def test_a_token_is_asked_for_again_too(user: Any, chat: Conversation) -> None:
    token = await db.run(Token.objects.create, user=user)
    async with reading(None, chat, Authorization=f"Token {token.key}") as reader:
        assert await reader.event() is not None
        await asyncio.sleep(0.6)
        await db.run(answered, chat, "still here")
        assert await reader.event() is not None
        await db.run(token.delete)
        await asyncio.wait_for(reader.end(), 5)


async def test_strangers_and_other_people_are_refused(user: Any, other: Any, chat: Conversation) -> None:
    for who, status in ((None, 401), (other, 404)):
        async with reading(who, chat) as reader:
            assert reader.status == status


def test_without_asgi_it_says_what_to_do(api: Api, chat: Conversation) -> None:
    answer = api("get", f"conversations/{chat.uid}/events/stream/")
    assert (answer.status_code, answer.json()["code"]) == (406, "needs_asgi")
    assert "ASGI" in answer.json()["detail"]


async def test_many_can_follow_without_a_thread_each(user: Any, chat: Conversation) -> None:
    client = AsyncClient()
    await client.aforce_login(user)
    cookie = f"sessionid={client.cookies['sessionid'].value}"
    path = f"{ROOT}conversations/{chat.uid}/events/stream/"
    readers = [Reader(path, {"Host": "localhost", "Cookie": cookie}) for _ in range(40)]
    for reader in readers:
        await reader.open()
    for reader in readers:
        await reader.event()
    async with asyncio.timeout(2):
        await db.run(Event.objects.count)
    await db.run(answered, chat, "hello")
    events = [await reader.event(10) for reader in readers]
    assert {event["id"] for event in events if event} == {f"{chat.epoch}:2"}
    for reader in readers:
        await reader.close()
    assert not broadcast.bus()._listeners.get(chat.pk)


async def test_a_reader_that_does_not_read_is_given_little_and_let_go(
    user: Any, chat: Conversation, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PONG_TIMEOUT_SECONDS": 1}

    def fill() -> None:
        for number in range(100):
            answered(chat, f"{number} " + "x" * 60_000)

    await db.run(fill)
    async with reading(user, chat) as reader:
        await reader.event()
        reader.taking.clear()
        given = reader.given
        await asyncio.sleep(0.5)
        assert reader.given - given <= 600_000
        assert await eventually(lambda: asyncio.sleep(0, not broadcast.bus()._listeners.get(chat.pk)))
        reader.taking.set()
        await asyncio.wait_for(reader.end(), 5)


async def test_the_head_of_a_stream_has_no_body(user: Any, chat: Conversation) -> None:
    client = AsyncClient()
    await client.aforce_login(user)
    answer = await client.head(f"{ROOT}conversations/{chat.uid}/events/stream/")
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, "text/event-stream", b"")
    assert await db.run(Run.objects.count) == 0
