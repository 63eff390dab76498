"""The server speaks the protocol, as the conformance scripts tell it."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.db import transaction

from crossmemory import db, erase, intake, log, turns
from crossmemory.models import Conversation, Message, Owner
from crossmemory.models.conversation import new_epoch
from crossmemory.runs import engine
from tests.conformance.scripts import Names, Script, scripts
from tests.conformance.transports import HTTP, Poll, checked_poll, ways
from tests.convergence.world import World, nothing_goes_out
from tests.support.attached import attach
from tests.support.frames import checked

pytestmark = pytest.mark.django_db(transaction=True)

SCRIPTS = [(f"{name} ({way})", script, way) for name, script in scripts("server") for way in ways(script)]
ANSWERS = {"ack", "nack", "error", "pong"}  # to a client's own frames


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = "tests.api.urls"


@pytest.mark.parametrize(("script", "way"), [each[1:] for each in SCRIPTS], ids=[each[0] for each in SCRIPTS])
async def test_the_server(script: Script, way: str, user: Any, other: Any, settings: Any) -> None:
    times = {f"{name.upper()}_SECONDS": seconds for name, seconds in script.get("times", {}).items()}
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, **times}
    world = await db.run(World, user)
    if surface := script.get("surface"):
        world.conversation = await db.run(log.get_or_create_singleton, Owner.of(user), surface, f"[{surface}]")
        world.pk = world.conversation.pk
    async with AsyncExitStack() as stack:
        play = Play(world, user, other, settings, stack, way)
        for step in script["steps"]:
            [(word, value)] = step.items()
            await getattr(play, f"_{word}")(value)


def nobody(user: Any) -> bool:
    """An agent's ALLOWED: nobody may use it any more."""
    return False


def whole(text: Any) -> Any:
    """A text, written out or as so many times a word."""
    return (text["text"] + " ") * text["times"] if isinstance(text, dict) and "times" in text else text


class Play:
    """One script, step by step: the world, and the clients that follow it."""

    def __init__(self, world: World, user: Any, other: Any, settings: Any, stack: AsyncExitStack, way: str) -> None:
        self.way = way
        self.world, self.user, self.other, self.settings, self.stack = world, user, other, settings, stack
        self.names = Names()
        self.clients: dict[str, Any] = {}  # of the way: Client, Stream or Poll
        self.leaving: dict[str, AsyncExitStack] = {}
        self.kept: dict[str, list[dict[str, Any]]] = {}

    # What happens in the conversation.

    async def _says(self, what: Any) -> None:
        about = what if isinstance(what, dict) else {"text": what}
        text = whole(about)
        for _ in range(about.get("copies", 1)):
            stored = await intake.asay(
                self.world.conversation,
                text if isinstance(text, str) else about["text"],
                author=self.world.person,
                client_id=about.get("client_id"),
            )
        if "as" in about:
            self.names[about["as"]] = str(stored.uid)

    async def _claims(self, _: bool) -> None:
        await db.run(self.world.claim, 0)

    async def _writes(self, text: str) -> None:
        def write() -> None:
            assert self.world.run is not None
            if self.world.message is None:
                self.world.message = turns.begin_answer(self.world.run, {}, text)
            else:
                log.write(self.world.message, self.world.run, len(self.world.text), text)
            self.world.text += text

        await db.run(write)

    async def _completes(self, _: bool) -> None:
        await db.run(self.world.complete, 0)

    async def _answers(self, text: Any) -> None:
        await db.run(self.world.claim, 0)
        self.world.text = whole(text)
        await db.run(self.world.complete, 0)

    async def _fails(self, _: bool) -> None:
        await db.run(self.world.fail, 0)

    async def _dies(self, _: bool) -> None:
        await db.run(self.world.die, 0)
        await engine.claim_waiting("another", 1)

    async def _listens(self, _: bool) -> None:
        await db.run(self.world.listen, 0)

    async def _asks(self, about: dict[str, Any]) -> None:
        policy = {name: about[name] for name in ("surfaces", "fresh_sign_in") if name in about}
        request = turns.Request("bell", {"times": about["times"]}, "Ring?", **policy)
        await turns.aawait_approval(self.world.run, None, "", [request], None, saw={}, outgoing=nothing_goes_out)

    async def _uses(self, about: dict[str, Any]) -> None:
        call = await turns.acall_tool(self.world.run, "look", {})
        await turns.afinish_tool(self.world.run, str(call.uid), about.get("result"), about.get("error", ""))

    async def _expires(self, _: bool) -> None:
        await db.run(self.world.expire, 0)

    async def _renames(self, title: str) -> None:
        await db.run(log.rename, self.world.conversation, title, self.world.person)

    async def _opens_afresh(self, _: bool) -> None:
        await db.run(self.world.boundary, 0)

    async def _edits(self, about: dict[str, str]) -> None:
        await db.run(log.edit, await self._message(about["message"]), about["text"], self.world.person)

    async def _redacts(self, name: str) -> None:
        await db.run(erase.message, await self._message(name), self.world.person)

    async def _message(self, name: str) -> Message:
        rows = Message.objects.select_related("conversation")
        found: Message = await db.run(rows.get, uid=self.names[name])
        return found

    async def _trims(self, most: int) -> None:
        self.settings.CROSSMEMORY["LOG_MAX_EVENTS"] = most
        await db.run(log.trim, self.world.pk)

    async def _restores(self, _: bool) -> None:
        await db.run(Conversation.objects.filter(pk=self.world.pk).update, epoch=new_epoch())
        await db.run(log.rename, self.world.conversation, "Restored", self.world.person)

    async def _takes_over(self, _: bool) -> None:
        await db.run(self._at_once, self.world.takeover, 1)

    async def _gives_back(self, _: bool) -> None:
        await db.run(self._at_once, self.world.takeover, 0)

    async def _is_undelivered(self, _: bool) -> None:
        await db.run(self._at_once, self.world.undelivered, 0)

    @staticmethod
    def _at_once(step: Callable[[int], None], number: int) -> None:
        with transaction.atomic():
            step(number)

    async def _signs_out(self, _: bool) -> None:
        await db.run(Session.objects.all().delete)

    async def _loses_access(self, _: bool) -> None:
        agents = self.settings.CROSSMEMORY["AGENTS"]
        self.settings.CROSSMEMORY["AGENTS"] = {
            **agents,
            "default": {**agents["default"], "ALLOWED": f"{__name__}.nobody"},
        }

    async def _deletes(self, _: bool) -> None:
        await db.run(erase.conversation, self.world.conversation)

    # What clients do, and get.

    async def _connects(self, about: dict[str, Any]) -> None:
        asked = {name: about[name] for name in ("cursor", "max_frame") if about.get(name) is not None}
        for name, value in self.names.items():
            asked = {
                key: each.replace(name, str(value)) if isinstance(each, str) else each for key, each in asked.items()
            }
        who = self.other if about.get("other") else None if about.get("signed_in") is False else self.user
        name = about.get("as", "a")
        self.leaving[name] = await self.stack.enter_async_context(AsyncExitStack())
        if self.way != "socket":
            client = await HTTP[self.way].open(who, self.world.conversation, asked.get("cursor"))
            self.leaving[name].push_async_callback(client.close)
            self.clients[name] = client
            return
        query = "?" + "&".join(f"{key}={value}" for key, value in asked.items())
        nobody = [(b"origin", b"http://localhost"), (b"host", b"localhost")] if who is None else None
        attached = attach(who, self.world.conversation, query, nobody)
        self.clients[name] = await self.leaving[name].enter_async_context(attached)
        self.clients[name].limit = max(16 * 1024, asked.get("max_frame", 256 * 1024))

    async def _leaves(self, _: bool) -> None:
        await self.leaving["a"].aclose()

    async def _sends(self, frame: dict[str, Any]) -> None:
        frame = {key: whole(value) if key == "text" else value for key, value in self.names.filled(frame).items()}
        await self.clients[frame.pop("as", "a")].send_json_to(frame)

    async def _sends_raw(self, what: Any) -> None:
        client = self.clients["a"]
        if isinstance(what, dict) and "bytes" in what:
            return await client.send_to(bytes_data=bytes.fromhex(what["bytes"]))
        times = what.get("frames", 1) if isinstance(what, dict) else 1
        for _ in range(times):
            await client.send_to(text_data=what["text"] if times > 1 else whole(what))
        return None

    async def _receives(self, expected: dict[str, Any]) -> None:
        found = await self._next(expected.get("as", "a"), expected.get("type") in ANSWERS)
        self.names.check(found, {key: value for key, value in expected.items() if key != "as"})

    async def _next(self, name: str, answer: bool) -> dict[str, Any]:
        """The next answer to a frame, or the next frame of the log: which comes first is nobody's promise."""
        kept = self.kept.setdefault(name, [])
        for frame in kept:
            if (frame["type"] in ANSWERS) is answer:
                kept.remove(frame)
                return frame
        while ((frame := await self.clients[name].frame())["type"] in ANSWERS) is not answer:
            kept.append(frame)
        return frame

    async def _receives_text(self, expected: dict[str, str]) -> None:
        text = ""
        while len(text) < len(expected["text"]):
            frame = await self._next("a", answer=False)
            self.names.check(frame, {"type": "delta", "message": expected["message"], "offset": len(text)})
            text += frame["text"]
        assert text == expected["text"]

    async def _receives_nothing(self, _: bool) -> None:
        assert await self.clients["a"].receive_nothing(0.2)

    async def _until(self, expected: dict[str, Any]) -> None:
        """Frames that do not fit are passed over; a ping that fits is left to the script to answer."""
        client = self.clients["a"]
        while True:
            frame = checked(await client.receive_from(5)) if expected["type"] == "ping" else await client.frame()
            if not Names(self.names).differs(frame, expected):
                return self.names.check(frame, expected)

    async def _closed(self, code: int) -> None:
        client = self.clients["a"]
        if self.way == "socket":
            assert await client.close_code() == code
        else:
            await client.closed(code)

    async def _polls(self, about: dict[str, Any]) -> None:
        poll = await Poll.open(self.user, self.world.conversation, self.names.filled(about["cursor"]))
        answer = checked_poll(await db.run(poll.ask))
        self.names.check(answer, about["answer"])
