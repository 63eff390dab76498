"""What belongs together is one message, or one turn: albums, long texts that were cut, quick fragments."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import db, intake, turns
from crossmemory.intake import albums
from crossmemory.models import InboundUpdate, Message, Run, SurfaceLink
from tests.intake.phone import arrive, body, claimed, edit, found, handled, store, work

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _short(settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "QUIET_SECONDS": 0.3, "QUIET_MAX_SECONDS": 3}


def photo(caption: str = "", album: str = "13980000000012345", **fields: Any) -> dict[str, Any]:
    captioned = {"caption": caption} if caption else {}
    sizes = [{"file_id": "", "file_unique_id": "u", "width": 67, "height": 90}]
    return body(None, photo=sizes, media_group_id=album, **captioned, **fields)


def messages() -> list[str]:
    return list(Message.objects.filter(role="user").order_by("seq").values_list("text", flat=True))


async def test_an_album_is_one_message_and_one_turn(link: SurfaceLink) -> None:
    for caption in ("before", "", "after"):
        await db.run(store, photo(caption))
    await work()
    message = await Message.objects.aget()
    assert message.text == "[photo] before\n[photo]\n[photo] after"
    assert [part["type"] for part in message.parts] == ["photo"] * 3
    assert await Run.objects.acount() == 1
    rows = [row async for row in InboundUpdate.objects.filter(message=message)]
    assert [(row.status, row.outcome) for row in rows] == [("done", "message")] * 3


async def test_its_pieces_stand_in_the_platforms_order(link: SurfaceLink) -> None:
    pieces = [photo("one"), photo("two"), photo("three")]
    for piece in reversed(pieces):
        await db.run(store, piece)
    await work()
    assert await db.run(messages) == ["[photo] one\n[photo] two\n[photo] three"]


async def test_a_piece_that_comes_a_little_later_belongs_to_it(link: SurfaceLink) -> None:
    import asyncio

    await db.run(store, photo("one"))
    working = asyncio.create_task(work())
    await asyncio.sleep(0.15)
    await db.run(store, photo("two"))
    await working
    assert await db.run(messages) == ["[photo] one\n[photo] two"]


async def test_after_a_restart_the_rest_is_waited_for(link: SurfaceLink) -> None:
    """What was stored long ago waits for the rest all the same: that may still be with the platform."""
    import asyncio

    first = await db.run(store, photo("one"))
    await InboundUpdate.objects.filter(external_id=first).aupdate(received_at=timezone.now() - timedelta(hours=1))
    working = asyncio.create_task(work())
    await asyncio.sleep(0.15)
    await db.run(store, photo("two"))
    await working
    assert await db.run(messages) == ["[photo] one\n[photo] two"]


async def test_what_is_said_after_an_album_stands_after_it_and_is_answered_with_it(link: SurfaceLink) -> None:
    await db.run(store, photo("what is this?"))
    await db.run(store, body("the blue part I mean"))
    await work()
    assert await db.run(messages) == ["[photo] what is this?", "the blue part I mean"]
    assert await Run.objects.acount() == 1


async def test_two_albums_are_two_messages(link: SurfaceLink) -> None:
    for caption, album in [("a", "1"), ("b", "1"), ("c", "2")]:
        await db.run(store, photo(caption, album))
    await work()
    assert await db.run(messages) == ["[photo] a\n[photo] b", "[photo] c"]


async def test_nobody_waits_for_somebody_elses_album(link: SurfaceLink, other: Any) -> None:
    await SurfaceLink.objects.acreate(
        user=other, surface="telegram", account="7000000001", external_id="77", chat="77", status="active"
    )
    await db.run(store, photo("slow"))
    await db.run(store, body("quick", sender=77))
    await work()
    assert await db.run(messages_in_time) == ["quick", "[photo] slow"]


def messages_in_time() -> list[str]:
    return list(Message.objects.filter(role="user").order_by("pk").values_list("text", flat=True))


async def test_an_album_of_a_stranger_leads_to_one_answer(db: Any) -> None:
    from crossmemory import db as database

    for caption in ("a", "b", "c"):
        await database.run(store, photo(caption, sender=7))
    await work()
    assert sorted([row.outcome async for row in InboundUpdate.objects.all()]) == ["told", "unlinked", "unlinked"]
    assert not await Message.objects.aexists()


def test_it_does_not_wait_for_ever(settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "QUIET_SECONDS": 2, "QUIET_MAX_SECONDS": 5}
    now = timezone.now()

    def waits(*ages: float, since: float = 3600) -> float:
        rows = [InboundUpdate(received_at=now - timedelta(seconds=age)) for age in ages]
        return albums.to_wait(rows, now - timedelta(seconds=since))

    assert 1.9 < waits(0) <= 2
    assert waits(3) == 0
    assert 0.9 < waits(4, 0) <= 1
    assert waits(6, 0) == 0
    assert 1.4 < waits(3600, since=0.5) <= 1.5


def test_a_piece_that_comes_too_late_is_answered_in_the_same_turn(link: SurfaceLink) -> None:
    handled(photo("one"))
    handled(photo("two"))
    assert messages() == ["[photo] one", "[photo] two"]
    assert Message.objects.values("turn").distinct().count() == 1
    assert Run.objects.count() == 1


def test_one_caption_of_an_album_is_edited(link: SurfaceLink) -> None:
    pieces = [photo("one"), photo("tow"), photo()]
    first, *rest = [store(piece) for piece in pieces]
    intake.handle(found(first), intake.Prepared([found(each) for each in rest]))
    assert edit(pieces[1], caption="two").outcome == "edited"
    assert edit(pieces[2], caption="three").outcome == "edited"
    assert messages() == ["[photo] one\n[photo] two\n[photo] three"]
    assert len(Message.objects.get().parts) == 3


def test_quick_fragments_are_one_turn_that_waits_for_quiet(link: SurfaceLink) -> None:
    arrive("I was wondering")
    run = Run.objects.get()
    assert run.not_before is not None
    assert run.pk not in turns.claimable()
    arrive("whether the ferry")
    later = Run.objects.get()
    assert later.not_before is not None
    assert later.not_before > run.not_before
    arrive("runs on Sunday?")
    Run.objects.update(not_before=timezone.now())
    assert turns.claimable() == [run.pk]
    assert Message.objects.values("turn").distinct().count() == 1
    assert claimed().pk == run.pk


def test_fragments_do_not_hold_an_answer_up_for_ever(link: SurfaceLink) -> None:
    arrive("one")
    Run.objects.update(created_at=timezone.now() - timedelta(seconds=60))
    arrive("two")
    assert turns.claimable() == [Run.objects.get().pk]


def test_more_is_waited_for_after_a_text_that_was_cut(link: SurfaceLink) -> None:
    arrive("x" * 4096)
    long = Run.objects.get()
    assert long.not_before is not None
    assert (long.not_before - long.created_at).total_seconds() > 0.5  # twice QUIET_SECONDS


def test_without_a_quiet_time_the_answer_begins_at_once(link: SurfaceLink, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "QUIET_SECONDS": 0}
    arrive("hello")
    assert turns.claimable() == [Run.objects.get().pk]
