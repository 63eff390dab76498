"""What a phone shows while an answer is being written, and that nothing is left of it."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import db, linking, outbox, turns
from crossmemory.dispatch import Sender
from crossmemory.events import Actor
from crossmemory.intake.messages import say
from crossmemory.models import Delivery, Message, Run
from crossmemory.runs import engine
from crossmemory.surfaces import Destination
from crossmemory.surfaces.telegram import TelegramSurface
from crossmemory.surfaces.telegram.previews import Previews
from tests.sandbox.conftest import Doors
from tests.support.runner import ScriptedAgent, slowly
from tests.telegram.conftest import ANA, BOT, deliver, eventually, link

TO_ANA = Destination("telegram", BOT, str(ANA))
HERE = TO_ANA.as_json()


def asked(user: Any, text: str = "A long answer please") -> Run:
    """Ana asks, and somebody begins to answer."""
    conversation = linking.conversation_of(link(user))
    say(conversation, text, author=Actor("user", str(user.pk)), destination=HERE)
    run = turns.claim(Run.objects.get(status="queued").pk, "test", engine.outgoing)
    assert run is not None
    return run


@pytest.fixture
async def run(surface: TelegramSurface, doors: Doors, user: Any) -> Run:
    await doors.say("hello")  # Ana has opened the chat
    return await db.run(asked, user)


async def shown(doors: Doors) -> Any:
    found = await doors.get("chat", chat_id=ANA)
    return found["action"], found["draft"]


async def looked(previews: Previews) -> None:
    """One look, and what it begins."""
    await previews.look()
    await asyncio.gather(*previews._tasks)


async def test_first_typing_then_the_text_so_far(surface: TelegramSurface, doors: Doors, run: Run) -> None:
    previews = Previews(surface)
    await looked(previews)
    assert await shown(doors) == ("typing", None)
    await db.run(turns.renew, run, "The ferry **leaves**")
    await asyncio.sleep(1.1)
    await looked(previews)
    assert (await shown(doors))[1] == "The ferry leaves"
    assert await doors.texts(ANA) == []


async def test_the_answer_takes_the_place_of_the_draft_and_is_exact(
    surface: TelegramSurface, doors: Doors, run: Run
) -> None:
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry leaves at")
    await looked(previews)
    text = "The ferry leaves at **9:40**."
    await db.run(lambda: turns.complete(
        run, None, text, saw={}, degraded=False, usage=None, outgoing=engine.outgoing))  # fmt: skip
    assert await db.run(Run.objects.values_list("preview", flat=True).get) == ""
    await delivered()
    await looked(previews)
    assert await doors.texts(ANA) == ["The ferry leaves at 9:40."]
    assert await shown(doors) == (None, None)


async def delivered() -> None:
    sender = Sender("telegram")
    job = asyncio.create_task(sender.run())
    await sender.flush(10)
    sender.stop()
    await job


async def test_what_was_seen_before_the_answer_is_not_shown_after_it(
    surface: TelegramSurface, doors: Doors, run: Run
) -> None:
    """The look was a moment too early: the answer has gone meanwhile."""
    await db.run(turns.renew, run, "The ferry")
    seen = surface.pace.clock()
    (piece,) = surface.render("The ferry is late.")
    await deliver(surface, TO_ANA, piece)
    await asyncio.sleep(1.1)
    assert not surface.pace.may_preview(str(ANA), seen)
    assert await shown(doors) == (None, None)


async def test_an_answer_waits_for_the_preview_that_is_on_its_way(
    surface: TelegramSurface, doors: Doors, run: Run
) -> None:
    await doors.post("fault", {"method": "sendMessageDraft", "delay": 1})
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry")
    await previews.look()
    await asyncio.sleep(0.2)
    (piece,) = surface.render("The ferry is late.")
    await deliver(surface, TO_ANA, piece)
    assert await shown(doors) == (None, None)
    assert await doors.texts(ANA) == ["The ferry is late."]


async def test_a_limit_on_a_preview_leaves_the_chat_alone_and_the_answer_comes_whole(
    surface: TelegramSurface, doors: Doors, run: Run
) -> None:
    await doors.post("fault", {"method": "sendMessageDraft", "status": 429, "retry_after": 5})
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry")
    await looked(previews)
    assert surface.pace.closed(str(ANA)) > 0
    (piece,) = surface.render("The ferry is late.")
    outcome = await deliver(surface, TO_ANA, piece)
    assert outcome.fate == "rate_limited"
    assert 0 < outcome.retry_after <= 5
    assert await doors.texts(ANA) == []
    await db.run(outbox.write, HERE, [{"text": "The ferry is late."}])
    sender = Sender("telegram")
    job = asyncio.create_task(sender.run())
    assert await eventually(lambda: doors.texts(ANA)) == ["The ferry is late."]
    sender.stop()
    await job


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 400, "description": "Bad Request: drafts are not supported here"},
        {"status": 403},
        {"status": 404, "description": "Not Found: method not found"},
    ],
)
async def test_where_drafts_are_refused_typing_is_shown_instead(
    surface: TelegramSurface, doors: Doors, run: Run, fault: Any
) -> None:
    await doors.post("fault", {"method": "sendMessageDraft", **fault})
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry")
    for _ in range(2):
        await looked(previews)
        await asyncio.sleep(1.1)
    assert await shown(doors) == ("typing", None)


@pytest.mark.parametrize("fault", [{"status": 500}, {"drop": "after"}, {"drop": "before"}, {"delay": 5}])
async def test_trouble_with_a_preview_is_nobodys_trouble(
    surface: TelegramSurface, doors: Doors, run: Run, fault: Any
) -> None:
    await doors.post("fault", {"method": "sendMessageDraft", **fault})
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry")
    await looked(previews)
    await db.run(turns.renew, run, "The ferry leaves")
    await asyncio.sleep(1.1)
    await looked(previews)
    assert (await shown(doors))[1] == "The ferry leaves"


async def test_a_dead_process_and_a_group_show_no_draft(surface: TelegramSurface, doors: Doors, run: Run) -> None:
    previews = Previews(surface)
    await db.run(turns.renew, run, "The ferry")
    await db.run(Run.objects.update, destination={**HERE, "chat": "-1002345678901"})
    await looked(previews)
    assert not previews._drafts
    await db.run(Run.objects.update, destination=HERE, lease_until=timezone.now() - timedelta(seconds=1))
    await looked(previews)
    assert await shown(doors) == (None, None)


async def test_a_long_answer_shows_its_end(surface: TelegramSurface, doors: Doors, run: Run) -> None:
    previews = Previews(surface)
    await db.run(turns.renew, run, "word " * 2000 + "\n```\nlast line")
    await looked(previews)
    draft = (await shown(doors))[1]
    assert draft.startswith("…")
    assert draft.endswith("last line")
    assert len(draft) <= 4096


async def test_stopping_keeps_what_was_shown_and_says_so(
    surface: TelegramSurface, doors: Doors, script: type[ScriptedAgent], user: Any
) -> None:
    """The whole way: the agent speaks, the text so far stands in the run, the person stops it."""
    script.script = lambda context: slowly("One, ", "two, ", *["three, "] * 100, pause=0.1)
    run = await db.run(asked, user)
    job = asyncio.create_task(engine.execute(run))

    async def previewed() -> str:
        return str(await db.run(Run.objects.values_list("preview", flat=True).get))

    assert await eventually(previewed)
    await db.run(Run.objects.update, stop_requested=True)
    await job
    message = await db.run(Message.objects.get, role="assistant")
    assert message.status == "interrupted"
    assert message.text.startswith("One, two,")
    text = (await db.run(Delivery.objects.get)).payload["text"]
    assert text.startswith("One, two,")
    assert text.endswith("(Stopped.)")
    assert await previewed() == ""


async def test_stopping_before_anything_was_shown_leaves_nothing(
    surface: TelegramSurface, script: type[ScriptedAgent], doors: Doors, user: Any
) -> None:
    script.script = lambda context: slowly(" ", *[" "] * 100, pause=0.1)
    run = await db.run(asked, user)
    await db.run(Run.objects.update, stop_requested=True)
    await engine.execute(run)
    assert not await db.run(Message.objects.filter(role="assistant").exists)
    assert not await db.run(Delivery.objects.exists)


async def test_a_run_that_was_previewed_and_lost_is_begun_again(
    surface: TelegramSurface, doors: Doors, run: Run
) -> None:
    """A draft is no message: after the death of its process the answer is written anew."""
    await db.run(turns.renew, run, "The ferry leaves at")
    await db.run(Run.objects.update, lease_until=timezone.now() - timedelta(seconds=1))
    (waiting,) = await db.run(turns.claimable)
    again = await db.run(turns.claim, waiting, "other", engine.outgoing)
    assert again is not None
    assert (await db.run(Run.objects.get)).preview == ""
    assert not await db.run(Message.objects.filter(role="assistant").exists)
