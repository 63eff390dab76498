"""The socket: one envelope for every attach, then live events; bad frames are answered and harm nobody."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from channels.testing import WebsocketCommunicator
from django.core.asgi import get_asgi_application
from django.core.management import call_command
from django.db import connection
from rest_framework.authtoken.models import Token

from crossmemory import broadcast, db, erase, intake, log, turns
from crossmemory.asgi import with_crossmemory
from crossmemory.attach import reader
from crossmemory.conf import settings as app_settings
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Message, Owner
from crossmemory.runs import engine
from tests.support.attached import application, attach, signed_in
from tests.support.runner import ScriptedAgent, eventually, slowly

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


@pytest.fixture
def no_looks(settings: Any) -> Iterator[None]:
    """The process does not look into the database by itself, so that its looks are not counted."""
    broadcast.stop()
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "POLL_SECONDS": 60}
    yield
    broadcast.stop()


def say(conversation: Conversation, text: str, client_id: str | None = None) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)), client_id=client_id)


async def test_a_full_replay_starts_with_the_anchor(user: Any, conversation: Conversation) -> None:
    await db.run(say, conversation, "hello", "c1")
    async with attach(user, conversation) as client:
        [batch] = await client.replay()
    assert batch["mode"] == "full"
    assert batch["reset"] is True
    assert [event["seq"] for event in batch["events"]] == [1, 2, 3]
    assert (batch["head"], batch["floor"], batch["truncated"], batch["gap"]) == (3, 2, False, None)
    assert (batch["run"], batch["partials"], batch["pending"]) == ("queued", [], [])
    assert batch["events"][1]["data"]["text"] == "hello"
    assert batch["events"][1]["client_id"] == "c1"


@pytest.mark.parametrize(
    ("cursor", "mode", "seqs"),
    [
        ("{epoch}:3", "current", []),
        ("{epoch}:1", "resume", [2, 3]),
        ("{epoch}:4", "full", [1, 2, 3]),
        ("other:2", "full", [1, 2, 3]),
        ("nonsense", "full", [1, 2, 3]),
        ("{epoch}:99999999999999999999", "full", [1, 2, 3]),
    ],
)
async def test_a_cursor_is_honoured_exactly_when_it_can_be(
    user: Any, conversation: Conversation, cursor: str, mode: str, seqs: list[int]
) -> None:
    await db.run(say, conversation, "hello")
    async with attach(user, conversation, f"?cursor={cursor.format(epoch=conversation.epoch)}") as client:
        [batch] = await client.replay()
    assert (batch["mode"], [event["seq"] for event in batch["events"]]) == (mode, seqs)
    assert batch["reset"] is (mode == "full")


async def test_long_logs_come_in_numbered_batches_that_fit(user: Any, conversation: Conversation) -> None:
    def fill() -> None:
        for index in range(60):
            say(conversation, 'é"' * 8_000 + str(index))

    await db.run(fill)
    async with attach(user, conversation) as client:
        batches = await client.replay()
    events = [event for batch in batches for event in batch["events"]]
    assert len(batches) > 4
    assert [event["seq"] for event in events] == list(range(1, 63))
    assert all("run" not in batch for batch in batches[:-1])
    async with attach(user, conversation, "?max_frame=20000") as client:
        small = await client.replay()
    assert all("ref" in event for batch in small for event in batch["events"] if event["type"] == "message.completed")


async def test_what_is_said_elsewhere_arrives_live_and_once(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as one, attach(user, conversation) as two:
        await one.replay()
        await two.replay()
        for index in range(20):
            await db.run(say, conversation, f"m{index}")
        for client in (one, two):
            seqs = []
            while len(seqs) < 21:
                frame = await client.frame()
                assert frame["type"] == "event"
                seqs.append(frame["event"]["seq"])
            assert seqs == list(range(2, 23))


async def test_sending_is_acknowledged_and_repeating_is_harmless(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as client:
        await client.replay()
        send = {"type": "message.send", "client_id": "c1", "text": "hello"}
        replies: list[dict[str, Any]] = []
        for frame in (send, send, {**send, "text": "other"}, {**send, "client_id": "c2", "text": " "}):
            await client.send_json_to(frame)
            while True:
                reply = await client.frame()
                if reply["type"] in ("ack", "nack"):
                    replies.append(reply)
                    break
    assert replies[0] == {"type": "ack", "client_id": "c1", "seq": 2, "duplicate": False}
    assert replies[1] == {"type": "ack", "client_id": "c1", "seq": 2, "duplicate": True}
    assert (replies[2]["code"], replies[3]["code"]) == ("conflict", "empty")
    assert await db.run(Message.objects.count) == 1


async def test_text_streams_as_deltas_and_ends_as_an_event(
    user: Any, conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    script.script = lambda context: slowly("Héllo ", "wörld ", "😀 done", pause=0.1)
    async with attach(user, conversation) as client:
        await client.replay()
        await client.send_json_to({"type": "message.send", "client_id": "c1", "text": "hi"})
        running = asyncio.create_task(engine_once())
        text, late_partial = "", None
        while True:
            frame = await client.frame()
            if frame["type"] == "delta":
                assert frame["offset"] == len(text)
                text += frame["text"]
                if late_partial is None:
                    async with attach(user, conversation) as other:
                        late_partial = (await other.replay())[-1]["partials"]
            if (
                frame["type"] == "event"
                and frame["event"]["data"].get("role") == "assistant"
                and "text" in frame["event"]["data"]
            ):
                break
        await running
    assert frame["event"]["data"]["text"].startswith(text.strip())
    assert text.startswith("Héllo")
    assert late_partial
    assert late_partial[0]["text"].startswith("Héllo")


async def engine_once() -> None:
    assert await eventually(lambda: engine.run_waiting("w"))


async def test_other_peoples_and_unknown_conversations_look_the_same(
    user: Any, other: Any, conversation: Conversation
) -> None:
    async with attach(other, conversation) as client:
        assert await client.close_code() == 4503
    async with attach(user, "00000000-0000-4000-8000-000000000000") as client:
        assert await client.close_code() == 4503


async def test_nobody_and_strange_pages_are_refused(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation, headers=[(b"origin", b"http://localhost")]) as client:
        assert await client.close_code() == 4501
    key = await db.run(signed_in, user)
    cookie = (b"cookie", f"sessionid={key}".encode())
    for origin in (b"https://evil.example", b"null", b""):
        async with attach(user, conversation, headers=[(b"origin", origin), cookie]) as client:
            assert await client.close_code() == 4503
    async with attach(user, conversation, headers=[cookie]) as client:
        assert await client.close_code() == 4503


async def test_programs_attach_with_a_token_and_no_origin(user: Any, conversation: Conversation) -> None:
    token = await db.run(Token.objects.create, user=user)
    async with attach(user, conversation, headers=[(b"authorization", f"Token {token.key}".encode())]) as client:
        await client.replay()
    async with attach(user, conversation, headers=[(b"authorization", b"Token wrong")]) as client:
        assert await client.close_code() == 4501


async def test_a_site_that_takes_longer_texts_takes_them_whole_also_escaped(
    user: Any, conversation: Conversation, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "MAX_TEXT_BYTES": 300 * 1024}
    async with attach(user, conversation) as client:
        await client.replay()
        text = "é" * (150 * 1024)  # 6 bytes each in this frame, 2 in the text
        await client.send_to(text_data=json.dumps({"type": "message.send", "client_id": "long", "text": text}))
        while (told := await client.frame())["type"] != "ack":
            assert told["type"] in ("event", "delta")
        assert told["client_id"] == "long"


BAD = ["", "{", "[1,2]", '"x"', "null", '{"type":5}', '{"type":"message.send","text":null}', "[" * 100_000]


async def test_bad_frames_are_answered_and_the_next_good_one_works(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as client:
        await client.replay()
        for text in BAD:
            await client.send_input({"type": "websocket.receive", "text": text})
            assert (await client.frame())["type"] == "error"
        await client.send_to(bytes_data=b"\xff\xfe")
        assert (await client.frame())["code"] == "binary"
        await client.send_to(text_data=json.dumps({"type": "message.send", "client_id": "x", "text": "x" * 600_000}))
        assert (await client.frame())["code"] == "too_large"
        await client.send_json_to({"type": "message.send", "client_id": "x", "text": "x" * 70_000})
        assert (await client.frame())["code"] == "too_long"
        await client.send_json_to({"type": "from.the.future", "x": 1})
        await client.send_json_to({"type": "ping", "n": 7})
        assert await client.frame() == {"type": "pong", "n": 7}
        await client.send_to(text_data='{"type":"message.send","client_id":"u","text":"half \\ud83d and \\u0000"}')
        assert (await client.frame())["type"] in ("ack", "event")


async def test_only_repeated_abuse_closes_the_socket(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as client:
        await client.replay()
        for _ in range(25):
            await client.send_to(text_data="{")
        assert await client.close_code() == 4510


async def test_three_hundred_quick_sends_are_all_stored_in_order(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as client:
        await client.replay()
        for index in range(300):
            await client.send_json_to({"type": "message.send", "client_id": f"c{index}", "text": f"m{index}"})
        acks: list[int] = []
        while len(acks) < 300:
            frame = await client.frame(20)
            if frame["type"] == "ack":
                acks.append(frame["seq"])
    assert acks == sorted(acks)
    texts = await db.run(lambda: list(Message.objects.order_by("seq").values_list("text", flat=True)))
    assert texts == [f"m{index}" for index in range(300)]


async def test_after_a_restored_backup_clients_draw_the_log_anew(user: Any, conversation: Conversation) -> None:
    await db.run(say, conversation, "in the backup")
    old = f"?cursor={conversation.epoch}:3"
    async with attach(user, conversation, old) as client:
        [before] = await client.replay()
        await db.run(call_command, "crossmemory_new_epoch")
        broadcast.ring(conversation.pk)  # or the next look into the database
        [live] = await client.replay()  # whoever is attached
    async with attach(user, conversation, old) as client:
        [later] = await client.replay()  # and whoever comes back
    assert before["mode"] == "current"
    assert live["epoch"] == later["epoch"] != before["epoch"]
    assert live["mode"] == later["mode"] == "full"


async def test_a_redacted_message_makes_clients_rebuild(user: Any, conversation: Conversation) -> None:
    def forget() -> None:
        message = Message.objects.get()
        erase.message(message, Actor("user", str(user.pk)))

    await db.run(say, conversation, "my secret")
    async with attach(user, conversation) as client:
        [before] = await client.replay()
        await db.run(forget)
        [after] = await client.replay()
    assert after["epoch"] != before["epoch"]
    assert after["reset"] is True
    assert "my secret" not in json.dumps(after)


async def test_a_deleted_conversation_closes_its_sockets(user: Any, conversation: Conversation) -> None:
    async with attach(user, conversation) as client:
        await client.replay()
        await db.run(erase.conversation, conversation)
        assert await client.close_code() == 4504


async def test_signing_out_closes_within_one_ping(user: Any, conversation: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PING_SECONDS": 0.2}
    async with attach(user, conversation) as client:
        await client.replay()
        user.is_active = False
        await db.run(user.save)
        assert await client.close_code() == 4501


async def test_what_belongs_to_another_surface_is_read_only(user: Any) -> None:
    telegram = await db.run(log.get_or_create_singleton, Owner.of(user), "telegram", "[Telegram]")
    async with attach(user, telegram) as client:
        await client.replay()
        await client.send_json_to({"type": "message.send", "client_id": "c1", "text": "hi"})
        assert (await client.frame())["code"] == "read_only_here"


async def test_trimming_is_told_honestly(user: Any, conversation: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 20}

    def fill() -> None:
        for index in range(40):
            log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), f"m{index}"))
        log.trim(conversation.pk)

    await db.run(fill)
    async with attach(user, conversation) as client:
        [batch] = await client.replay()
    seqs = [event["seq"] for event in batch["events"]]
    assert seqs[0] == 1
    assert seqs[1:] == list(range(batch["floor"], 42))
    assert len(seqs) <= 18
    assert batch["truncated"] is True
    assert batch["gap"] == {"from": 2, "to": batch["floor"] - 1, "reason": "count"}
    assert await db.run(Message.objects.count) == 40


async def test_a_client_that_never_reads_is_closed(user: Any, conversation: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PONG_TIMEOUT_SECONDS": 0.3}

    def fill() -> None:
        for _ in range(40):
            say(conversation, "x" * 60_000)

    await db.run(fill)
    async with attach(user, conversation) as client:
        assert await client.close_code() == 4008


async def test_what_was_followed_is_what_is_replayed(
    user: Any, conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    """Reload equals live: an answer, a stopped one, a failed one, a rename, a boundary."""

    async def broken(context: Any) -> AsyncIterator[str]:
        yield "I was "
        raise ValueError

    async def turn(text: str, answer: Any) -> None:
        script.script = answer
        await db.run(say, conversation, text)
        await engine.run_waiting("w")

    actor = Actor("user", str(user.pk))
    async with attach(user, conversation) as client:
        await client.replay()
        await turn("one", None)
        await turn("two", broken)
        script.script = lambda context: slowly(*["word "] * 40)
        await db.run(say, conversation, "three")
        running = asyncio.create_task(engine.run_waiting("w"))
        await asyncio.sleep(0.3)
        await turns.arequest_stop(conversation, actor)
        await running
        await db.run(log.rename, conversation, "Other title", actor)
        await db.run(log.open_afresh, conversation, actor)
        await db.run(conversation.refresh_from_db)
        live: list[dict[str, Any]] = []
        while not live or live[-1]["seq"] < conversation.head:
            frame = await client.frame()
            if frame["type"] == "event":
                live.append(frame["event"])
    async with attach(user, conversation) as client:
        [batch] = await client.replay()
    assert batch["events"][1:] == live
    assert {event["type"] for event in live} >= {"run.failed", "run.stopped", "message.interrupted", "memory.boundary"}


@pytest.mark.parametrize("length", [3, 300])
async def test_an_attach_asks_the_database_a_constant_number_of_times(
    user: Any, conversation: Conversation, length: int, no_looks: None
) -> None:
    def fill() -> None:
        for index in range(length):
            log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), f"m{index}"))

    await db.run(fill)
    asked: list[str] = []

    def count(execute: Any, sql: str, *rest: Any) -> Any:
        asked.append(sql)
        return execute(sql, *rest)

    def install() -> None:
        connection.execute_wrappers.append(count)

    def remove() -> None:
        with contextlib.suppress(ValueError):
            connection.execute_wrappers.remove(count)

    key = await db.run(signed_in, user)
    headers = [(b"origin", b"http://localhost"), (b"cookie", f"sessionid={key}".encode())]
    await everywhere(install)
    try:
        async with attach(user, conversation, headers=headers) as client:
            await client.replay()
            await asyncio.sleep(0.1)
    finally:
        await everywhere(remove)
    # the session, its user, the conversation, the snapshot, one page, and what came since
    assert len([sql for sql in asked if "SELECT" in sql]) <= 7, asked


async def everywhere(call: Any) -> None:
    """Call a function once in each of the app's database threads."""
    together = threading.Barrier(app_settings.DB_THREADS)

    def once() -> None:
        together.wait(5)
        call()

    await asyncio.gather(*(db.run(once) for _ in range(app_settings.DB_THREADS)))


async def test_trimming_between_two_looks_makes_the_replay_start_again(
    user: Any, conversation: Conversation, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fill() -> None:
        for index in range(200):
            log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), f"m{index}"))

    await db.run(fill)
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LOG_MAX_EVENTS": 100}
    read = reader.page

    def trimmed_first(*arguments: Any) -> Any:
        log.trim(conversation.pk)
        return read(*arguments)

    monkeypatch.setattr(reader, "page", trimmed_first)
    async with attach(user, conversation) as client:
        [batch] = await client.replay()
    assert batch["gap"] == {"from": 2, "to": batch["floor"] - 1, "reason": "count"}
    assert [event["seq"] for event in batch["events"]] == [1, *range(batch["floor"], 202)]


async def test_a_server_that_stops_lets_runs_finish() -> None:
    """The lifespan protocol, which Django itself does not speak."""
    said: list[str] = []
    heard = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        return {"type": next(heard)}

    async def send(message: dict[str, str]) -> None:
        said.append(message["type"])

    await with_crossmemory(get_asgi_application())({"type": "lifespan"}, receive, send)
    assert said == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_followers_of_one_conversation_share_their_reads(
    user: Any, conversation: Conversation, no_looks: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    read = reader.news

    def counted(conversation_id: int, after: int) -> Any:
        reads.append(after)
        return read(conversation_id, after)

    key = await db.run(signed_in, user)
    headers = [(b"origin", b"http://localhost"), (b"cookie", f"sessionid={key}".encode())]
    async with contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(attach(user, conversation, headers=headers)) for _ in range(25)]
        for client in clients:
            await client.replay()
        await asyncio.sleep(0.2)
        monkeypatch.setattr(reader, "news", counted)
        for text in ("one", "two"):
            reads.clear()
            await db.run(say, conversation, text)
            for client in clients:
                while (await client.frame())["type"] != "event":
                    pass
            await asyncio.sleep(0.1)
            assert 1 <= len(reads) <= 4  # not one per socket


@pytest.mark.parametrize("taken", range(6))
async def test_a_client_that_vanishes_is_no_error(
    user: Any, conversation: Conversation, taken: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Servers may say so by an OSError of any send: of the first one, of an event, of an answer, of the close."""
    key = await db.run(signed_in, user)
    headers = [(b"origin", b"http://localhost"), (b"host", b"localhost"), (b"cookie", f"sessionid={key}".encode())]
    sent: list[str] = []
    gone = asyncio.Event()

    async def vanishing(scope: Any, receive: Any, send: Any) -> None:
        async def until_gone(message: Any) -> None:
            if len(sent) == taken:
                gone.set()
                raise OSError("disconnected")
            sent.append(message["type"])
            await send(message)

        await application(scope, receive, until_gone)

    path = f"/ws/crossmemory/conversations/{conversation.uid}/"
    client = WebsocketCommunicator(vanishing, path, headers)
    await client.send_input({"type": "websocket.connect"})
    for text in ('{"type":"ping","n":1}', '{"type":"message.send","client_id":"c","text":"hello"}', *["{"] * 20):
        await client.send_input({"type": "websocket.receive", "text": text})
    async with asyncio.timeout(5):
        await gone.wait()
    await client.send_input({"type": "websocket.disconnect", "code": 1006})
    await client.wait(5)  # raises what the application raised
    assert len(sent) == taken
    assert [record.getMessage() for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []
