"""A client that lies gains nothing: about where it stands, what it has read, what it was shown, whose it is."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient

from crossmemory import db, intake, log, turns
from crossmemory.attach import follower
from crossmemory.conf import KIB
from crossmemory.events import Actor
from crossmemory.models import Conversation, Owner, Run, ToolCall
from tests.support.attached import Client, attach

pytestmark = pytest.mark.django_db(transaction=True)


def nothing_goes_out(run: Any, message: Any, text: str) -> None:
    """Stands for the outbox."""


def say(conversation: Conversation, text: str) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)))


def claim(conversation: Conversation) -> Run:
    run = turns.claim(say(conversation, "hello").run_id or 0, "w", nothing_goes_out)
    assert run is not None
    return run


def asks(conversation: Conversation, times: int = 1) -> ToolCall:
    """A tool call that waits for a decision."""
    requests = [turns.Request("bell", {"times": times})]
    [call] = turns.await_approval(claim(conversation), None, "", requests, None, saw={}, outgoing=nothing_goes_out)
    return call


def writes(conversation: Conversation, text: str) -> str:
    """A message that is being written."""
    return str(turns.begin_answer(claim(conversation), {}, text).uid)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


@pytest.fixture
def second(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Another of the same person")


@pytest.fixture
def theirs(other: Any) -> Conversation:
    return log.create(Owner.of(other), "web", "Somebody else's")


CURSORS = [
    "{epoch}:4",
    "{epoch}:-1",
    "{epoch}:+3",
    "{epoch}:3.0",
    "{epoch}:٣",
    "{epoch}:9007199254740993",
    "{epoch}:99999999999999999999999999",
    "{second}:3",
    "{theirs}:3",
    "{theirs}:999",
    ":3",
    "{epoch}",
    "{epoch}:",
    "{epoch}:3:3",
    " {epoch}:3",
    "%00{epoch}:3",
    "{epoch}:3%0A",
]


@pytest.mark.parametrize("lie", CURSORS)
async def test_a_cursor_that_lies_gets_what_a_client_without_one_gets(
    user: Any, conversation: Conversation, second: Conversation, theirs: Conversation, lie: str
) -> None:
    def fill() -> None:
        for each in (conversation, second, theirs):
            say(each, f"said in {each.title}")

    await db.run(fill)
    cursor = lie.format(epoch=conversation.epoch, second=second.epoch, theirs=theirs.epoch)
    http = AsyncClient()
    await db.run(http.force_login, user)
    address = f"/api/crossmemory/conversations/{conversation.uid}/events/"
    async with attach(user, conversation, f"?cursor={cursor}") as lying, attach(user, conversation) as honest:
        [mine], [plain] = await lying.replay(), await honest.replay()
    polled = json.loads((await http.get(f"{address}?cursor={cursor}&wait=0")).content)
    for batch in (mine, polled):
        assert (batch["mode"], batch["reset"]) == ("full", True)
        assert batch["events"] == plain["events"]
        assert [event["seq"] for event in batch["events"]] == [1, 2, 3]


@pytest.fixture
def impatient(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server wants a sign after 64 KiB, and waits for it for half a second."""
    monkeypatch.setattr(follower, "_UNSEEN_BYTES", 64 * KIB)
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "PONG_TIMEOUT_SECONDS": 0.5, "FRAMES_PER_SECOND": 1e9}


Lie = Callable[[int, int], dict[str, Any]]


@pytest.mark.parametrize(
    "lie",
    [
        lambda n, before: {"type": "pong"},
        lambda n, before: {"type": "pong", "n": n + 1},
        lambda n, before: {"type": "pong", "n": before},
        lambda n, before: {"type": "pong", "n": str(n)},
        lambda n, before: {"type": "pong", "n": [n]},
        lambda n, before: {"type": "pong", "n": None},
        lambda n, before: {"type": "ping", "n": n},
        lambda n, before: {"type": "read", "seq": 1},
        lambda n, before: {"type": "from.the.future", "n": n},
    ],
    ids=["none", "next", "earlier", "text", "list", "null", "ping", "read", "unknown"],
)
async def test_only_who_has_read_can_say_so(user: Any, conversation: Conversation, impatient: None, lie: Lie) -> None:
    """After one honest pong come frames of every other kind: the socket is closed, and little was sent by then."""

    def fill() -> None:
        for _ in range(20):
            say(conversation, "x" * 30_000)

    await db.run(fill)
    async with attach(user, conversation, "?max_frame=40000") as client:
        before = await asked(client)
        await client.send_json_to({"type": "pong", "n": before})
        n = await asked(client)
        sent, code = 0, None
        while code is None:
            await client.send_json_to(lie(n, before))
            output = await client.receive_output(5)
            code = output.get("code")
            if (text := output.get("text", "")) and '"structured_replay"' in text:
                sent += 1
            await asyncio.sleep(0.02)
    assert (code, sent) == (4008, 0)


async def asked(client: Client) -> int:
    """The number of the next ping that has one."""
    while True:
        frame = json.loads(await client.receive_from(5))
        if frame["type"] == "ping" and "n" in frame:
            return int(frame["n"])


@pytest.mark.parametrize("kind", ["partial.get", "message.send"])
async def test_a_client_that_asks_and_never_reads_is_closed_too(
    user: Any, conversation: Conversation, impatient: None, kind: str
) -> None:
    """Answers to its own frames are counted: a server that buffers for a slow reader (daphne) would keep them all."""
    uid = await db.run(writes, conversation, "🙂" * 10_000)
    frames = {
        "partial.get": {"type": "partial.get", "message": uid, "from": 0},
        "message.send": {"type": "message.send", "client_id": "🙂" * 128, "text": ""},
    }
    sent, code = 0, None
    async with attach(user, conversation) as client:
        await client.replay()
        async with asyncio.timeout(20):
            while code is None:
                await client.send_json_to(frames[kind])
                await asyncio.sleep(0.002)
                while code is None and not client.output_queue.empty():
                    output = client.output_queue.get_nowait()
                    code = output.get("code")
                    sent += len(output.get("text", "").encode())
    assert code == 4008
    assert sent < 1_000 * KIB  # the bound, one text, and small answers for half a second


async def test_pongs_nobody_asked_for_change_nothing(user: Any, conversation: Conversation, impatient: None) -> None:
    def fill() -> None:
        for _ in range(20):
            say(conversation, "x" * 30_000)

    async with attach(user, conversation, "?max_frame=40000") as client:
        await client.replay()
        for n in range(200):
            await client.send_json_to({"type": "pong", "n": n})
        await db.run(fill)
        while (output := await client.receive_output(5))["type"] != "websocket.close":
            pass
    assert output["code"] == 4008


async def reply(client: Client) -> dict[str, Any]:
    """What the server answers to a command."""
    while (frame := await client.frame())["type"] not in ("ack", "nack", "error", "pong"):
        pass
    return frame


async def test_only_the_arguments_that_were_shown_can_be_approved(user: Any, conversation: Conversation) -> None:
    call = await db.run(asks, conversation)
    async with attach(user, conversation) as client:
        await client.replay()
        decide = {"type": "approval.decide", "tool_call": str(call.uid), "decision": "approved"}
        for lie in ("", "x", call.args_hash[:-1], call.args_hash.upper(), turns.hash_of({"times": 2}), "\x00"):
            await client.send_json_to({**decide, "args_hash": lie})
            assert (await reply(client))["code"] == "hash"
        for lie in (None, 5, [call.args_hash], {"args_hash": call.args_hash}):
            await client.send_json_to({**decide, "args_hash": lie})
            assert (await reply(client))["code"] == "invalid"
        await db.run(call.refresh_from_db)
        assert call.status == "requested"
        await client.send_json_to({**decide, "args_hash": call.args_hash})
        assert (await reply(client))["type"] == "ack"


async def test_nobody_decides_what_is_asked_elsewhere(
    user: Any, conversation: Conversation, second: Conversation, theirs: Conversation
) -> None:
    calls = [await db.run(asks, each) for each in (second, theirs)]
    async with attach(user, conversation) as client:
        await client.replay()
        for call in calls:
            frame = {"type": "approval.decide", "tool_call": str(call.uid), "decision": "approved"}
            await client.send_json_to({**frame, "args_hash": call.args_hash})
            assert (await reply(client))["code"] == "not_found"
            await db.run(call.refresh_from_db)
            assert call.status == "requested"


@pytest.mark.parametrize("lie", [3, 10**6, 2**53 - 1, 2**53, 2**64, -1, 1.0, "2", True, None, [2]])
async def test_nobody_has_read_what_is_not_there(user: Any, conversation: Conversation, lie: Any) -> None:
    def stands() -> int:
        return Conversation.objects.values_list("read_seq", flat=True).get(pk=conversation.pk)

    await db.run(log.rename, conversation, "Head is 2", Actor("user", str(user.pk)))
    async with attach(user, conversation) as client:
        await client.replay()
        before = await db.run(stands)
        await client.send_json_to({"type": "read", "seq": lie})
        await client.send_json_to({"type": "ping", "n": 1})
        answers = [await reply(client)]
        while answers[-1]["type"] != "pong":
            answers.append(await reply(client))
        assert await db.run(stands) == before
        await client.send_json_to({"type": "read", "seq": 2})
        await client.send_json_to({"type": "ping", "n": 2})
        await reply(client)
        assert await db.run(stands) == 2
    good = isinstance(lie, int) and not isinstance(lie, bool) and 0 <= lie < 2**53
    assert [answer.get("code") for answer in answers] == ([None] if good else ["invalid", None])


@pytest.mark.parametrize("start", [0, 3, 16, 17, 10**6, 2**53 - 1, -1, 2**53, 1.5, True, "0", None])
async def test_the_text_so_far_is_ones_own_and_from_where_it_is(
    user: Any, conversation: Conversation, second: Conversation, theirs: Conversation, start: Any
) -> None:
    text = "written 🙂 so far"
    uid = await db.run(writes, conversation, text)
    foreign = [await db.run(writes, each, "not for here") for each in (second, theirs)]
    async with attach(user, conversation) as client:
        await client.replay()
        for each in (*foreign, str(theirs.uid), "none", "", "\x00", "%s"):
            assert [frame["type"] for frame in await ask(client, each, 0)] == ["pong"]
        answers = await ask(client, uid, start)
    if not isinstance(start, int) or isinstance(start, bool) or not 0 <= start < 2**53:
        assert [frame.get("code") for frame in answers] == ["invalid", None]
    elif start < len(text):
        [delta, _] = answers
        assert (delta["message"], delta["offset"], delta["text"]) == (uid, start, text[start:])
    else:
        assert [frame["type"] for frame in answers] == ["pong"]


async def ask(client: Client, message: str, start: Any) -> list[dict[str, Any]]:
    """What comes after a `partial.get`, up to a pong somewhat later."""
    await client.send_json_to({"type": "partial.get", "message": message, "from": start})
    await asyncio.sleep(0.1)
    await client.send_json_to({"type": "ping", "n": 1})
    answers = [await client.frame()]
    while answers[-1]["type"] != "pong":
        answers.append(await client.frame())
    return answers
