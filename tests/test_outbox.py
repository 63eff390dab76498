"""The ledger of what goes out, and the sender that works through it, with a surface that answers as it is told."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from crossmemory import db, dispatch, linking, log, outbox
from crossmemory.conf import settings as app
from crossmemory.dispatch import Sender
from crossmemory.events import Actor
from crossmemory.exceptions import Fenced
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Delivery, Event, InboundUpdate, Message, Owner, SurfaceLink
from crossmemory.surfaces import Destination, Outcome, Piece, Surface, surfaces

pytestmark = pytest.mark.django_db(transaction=True)

SENT = Outcome("sent", external_id="1")


class FakeSurface(Surface):
    """Answers each piece with the next outcome planned for its chat; notes what it was given."""

    def __init__(self, alias: str, **options: Any) -> None:
        super().__init__(alias, **options)
        self.planned: dict[str, list[Outcome | Exception]] = {}
        self.given: list[tuple[str, str, dict[str, Any]]] = []
        self.at_once = 0
        self.most_at_once: dict[str, int] = {}
        self.seconds = 0.0

    async def deliver(self, destination: Destination, piece: Piece) -> Outcome:
        self.given.append((destination.chat, piece.text, piece.payload))
        self.most_at_once[destination.chat] = self.most_at_once.get(destination.chat, 0) + 1
        assert self.most_at_once[destination.chat] == 1
        await asyncio.sleep(self.seconds)
        self.most_at_once[destination.chat] -= 1
        planned = self.planned.get(destination.chat)
        outcome = planned.pop(0) if planned else Outcome("sent", external_id=str(len(self.given)))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def texts(self, chat: str = "a") -> list[str]:
        return [text for to, text, _ in self.given if to == chat]


@pytest.fixture(autouse=True)
def surface(settings: Any) -> FakeSurface:
    settings.CROSSMEMORY = {"SURFACES": {"pigeon": {"BACKEND": "tests.test_outbox.FakeSurface"}}}
    return surfaces["pigeon"]  # type: ignore[misc]


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.get_or_create_singleton(Owner(user.pk), "pigeon", "[Pigeon]")


@pytest.fixture
def message(conversation: Conversation) -> Message:
    stored = log.append_message(conversation, NewMessage("assistant", Actor("agent", "default"), "an answer"))
    return Message.objects.get(pk=stored.id)


def place(chat: str = "a") -> dict[str, str]:
    return Destination("pigeon", "pigeon", chat).as_json()


def write(*texts: str, chat: str = "a", **about: Any) -> None:
    outbox.write(place(chat), [{"text": text} for text in texts], **about)


def states(**lookup: Any) -> list[str]:
    return list(Delivery.objects.filter(**lookup).order_by("pk").values_list("status", flat=True))


async def work(until: float = 0.3) -> None:
    """A sender for a short while."""
    sender = Sender("pigeon")
    job = asyncio.create_task(sender.run())
    await sender.flush(until)
    await asyncio.sleep(0.05)
    sender.stop()
    await job


def hurry() -> None:
    """What waits for a later attempt is due now."""
    Delivery.objects.filter(status="pending").update(not_before=None)


def test_a_message_is_written_once(message: Message) -> None:
    for _ in range(2):
        write("one", "two", message=message, conversation=message.conversation)
    assert list(Delivery.objects.values_list("piece", flat=True)) == [0, 1]
    write("one", chat="elsewhere", message=message)
    assert Delivery.objects.count() == 3


def test_a_notice_that_answers_an_update_is_written_once() -> None:
    row = InboundUpdate.objects.create(surface="pigeon", account="pigeon", external_id="1", raw=b"{}")
    for _ in range(2):
        write("hello", inbound=row)
    assert Delivery.objects.count() == 1
    write("proactive")
    write("proactive")
    assert Delivery.objects.count() == 3


def test_what_is_rolled_back_was_never_written(message: Message) -> None:
    rung: list[int] = []

    def bell() -> None:
        rung.append(1)

    outbox.listen(bell)
    try:
        with transaction.atomic():
            write("one", message=message)
            transaction.set_rollback(True)
        assert not Delivery.objects.exists()
        assert not rung
        write("one", message=message)
        assert rung
    finally:
        outbox.unlisten(bell)


def test_a_lone_surrogate_is_cleaned_before_it_is_stored() -> None:
    write("cut \ud83c\x00")
    assert Delivery.objects.get().payload["text"] == "cut \ufffd\ufffd"


async def test_pieces_arrive_in_order_one_at_a_time(surface: FakeSurface, message: Message) -> None:
    surface.seconds = 0.02
    await db.run(write, "one", "two", "three", message=message)
    await db.run(write, "four")
    await work(3)
    assert surface.texts() == ["one", "two", "three", "four"]
    assert await db.run(states) == ["sent"] * 4


async def test_a_written_piece_rings_the_sender_of_its_process(surface: FakeSurface) -> None:
    sender = Sender("pigeon")
    job = asyncio.create_task(sender.run())
    await asyncio.sleep(0.2)
    begun = asyncio.get_running_loop().time()
    await db.run(write, "quick")
    while not surface.given:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    assert asyncio.get_running_loop().time() - begun < 0.6
    sender.stop()
    await job


async def test_a_limited_chat_waits_its_full_time_and_nobody_else_does(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("rate_limited", retry_after=33, error="slow down")]
    await db.run(write, "one", "two")
    await db.run(write, "hello", chat="b")
    before = timezone.now()
    await work()
    assert surface.texts("b") == ["hello"]
    assert surface.texts("a") == ["one"]
    first = await db.run(lambda: Delivery.objects.get(payload__text="one"))
    assert (first.status, first.attempts) == ("pending", 0)
    assert first.not_before - before >= timedelta(seconds=33)
    await db.run(hurry)
    await work(2)
    assert surface.texts("a") == ["one", "one", "two"]


async def test_a_blocked_chat_is_marked_and_the_others_get_theirs(
    surface: FakeSurface, message: Message, user: Any
) -> None:
    def prepare() -> None:
        SurfaceLink.objects.create(
            user=user, surface="pigeon", account="pigeon", external_id="a", chat="a", status="active"
        )
        write("one", "two", message=message)
        write("hello", chat="b")

    await db.run(prepare)
    surface.planned["a"] = [Outcome("blocked", error="Forbidden: bot was blocked by the user")]
    await work(2)
    assert surface.texts("a") == ["one"]
    assert surface.texts("b") == ["hello"]
    assert await db.run(states, chat="a") == ["blocked", "blocked"]
    link = await db.run(lambda: SurfaceLink.objects.get(external_id="a"))
    assert link.unreachable.startswith("Forbidden")
    await db.run(linking.seen, link)
    assert (await db.run(lambda: SurfaceLink.objects.get(external_id="a"))).unreachable == ""


async def test_nothing_is_handed_over_for_who_shut_us_out_until_they_write(
    surface: FakeSurface, message: Message, user: Any
) -> None:
    def prepare() -> SurfaceLink:
        write("an answer", message=message)
        return SurfaceLink.objects.create(
            user=user, surface="pigeon", account="pigeon", external_id="a", chat="a", status="active",
            unreachable="The person blocked the bot.",
        )  # fmt: skip

    link = await db.run(prepare)
    await work()
    assert surface.given == []
    assert await db.run(states) == ["blocked"]
    (event,) = await db.run(lambda: list(Event.objects.filter(type="delivery.failed")))
    assert "blocked the bot" in event.body
    await db.run(linking.seen, link)
    await db.run(write, "hello again")
    await work()
    assert surface.texts() == ["hello again"]


@pytest.mark.parametrize("landed", ["", "77"])
async def test_a_piece_that_lands_beside_its_topic_takes_what_waits_along(
    surface: FakeSurface, message: Message, landed: str
) -> None:
    def prepare() -> None:
        topic = {**place(), "topic": "55"}
        outbox.write(topic, [{"text": "one"}, {"text": "two"}], message=message)
        outbox.write({**place(), "topic": "56"}, [{"text": "elsewhere"}])
        outbox.write({**place("b"), "topic": "55"}, [{"text": "another chat"}])

    await db.run(prepare)
    surface.planned["a"] = [Outcome("sent", external_id="9", topic=landed)]
    await work(2)
    rows = await db.run(lambda: {row.payload["text"]: row for row in Delivery.objects.all()})
    assert {text: row.topic for text, row in rows.items()} == {
        "one": landed, "two": landed, "elsewhere": "56", "another chat": "55",
    }  # fmt: skip
    assert {row.status for row in rows.values()} == {"sent"}
    assert rows["one"].external_id == "9"
    assert surface.texts() == ["one", "two", "elsewhere"]


async def test_a_failed_piece_is_in_the_log_and_keeps_the_rest_back(surface: FakeSurface, message: Message) -> None:
    await db.run(write, "one", "two", message=message)
    surface.planned["a"] = [Outcome("failed", error="Bad Request: message is too long")]
    await work()
    assert await db.run(states) == ["failed", "cancelled"]
    (event,) = await db.run(lambda: list(Event.objects.filter(type="delivery.failed")))
    assert str(message.uid) in event.body
    assert "too long" in event.body


async def test_a_transient_error_is_tried_again_until_there_were_enough(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("retry", error="Bad Gateway")] * 100
    await db.run(write, "one")
    for _ in range(app.DELIVERY_MAX_ATTEMPTS):
        await work(0.2)
        await db.run(hurry)
    await work(0.2)
    assert len(surface.given) == app.DELIVERY_MAX_ATTEMPTS
    assert await db.run(states) == ["failed"]


async def test_a_transient_error_passes(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("retry", error="Bad Gateway")]
    await db.run(write, "one")
    await work(0.2)
    row = await db.run(Delivery.objects.get)
    assert row.status == "pending"
    assert row.not_before is not None
    await db.run(hurry)
    await work(1)
    assert await db.run(states) == ["sent"]


async def test_an_answer_of_unknown_fate_goes_once_more_and_says_so(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("unknown", error="Timed out")]
    await db.run(write, "one")
    await work(2)
    assert [payload.get("label") for _, _, payload in surface.given] == [None, "(You may have received this already.)"]
    row = await db.run(Delivery.objects.get)
    assert (row.status, row.repeated) == ("sent", True)


async def test_what_is_unknown_twice_stays_unknown_and_delays_nothing(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("unknown")] * 2
    await db.run(write, "one")
    await db.run(write, "next")
    await work(2)
    assert surface.texts() == ["one", "one", "next"]
    assert await db.run(states) == ["unknown", "sent"]


async def test_what_nobody_asked_for_is_not_repeated(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("unknown")]
    await db.run(outbox.write, place(), [{"text": "news", "proactive": True}])
    await work()
    assert surface.texts() == ["news"]
    assert await db.run(states) == ["unknown"]


async def test_an_exception_of_the_surface_is_an_unknown_fate(surface: FakeSurface) -> None:
    surface.planned["a"] = [RuntimeError("who knows")]
    await db.run(write, "one")
    await work(2)
    assert surface.texts() == ["one", "one"]
    assert await db.run(states) == ["sent"]


async def test_a_chat_that_moved_takes_what_waits_along(surface: FakeSurface) -> None:
    surface.planned["a"] = [Outcome("retry", error="moved", chat="a2")]
    await db.run(write, "one", "two")
    await work(2)
    assert surface.texts("a2") == ["one", "two"]


async def test_a_chat_that_moved_is_followed_at_the_last_attempt_too(surface: FakeSurface) -> None:
    await db.run(write, "one")
    await db.run(lambda: Delivery.objects.update(attempts=app.DELIVERY_MAX_ATTEMPTS - 1))
    surface.planned["a"] = [Outcome("retry", error="upgraded", chat="new")]
    await work(2)
    assert surface.texts("new") == ["one"]
    assert await db.run(states) == ["sent"]


def test_a_platform_that_asks_for_more_than_a_day_is_asked_again_after_one() -> None:
    write("one")
    [row] = outbox.claim("pigeon", "pigeon", "w", 5)
    outbox.limited(row, 10 * 86_400, "later")
    assert outbox.claim("pigeon", "pigeon", "w", 5) == []
    waits = Delivery.objects.get().not_before
    assert waits is not None
    assert timedelta(hours=23) < waits - timezone.now() < timedelta(hours=25)


def killed(*, handed: bool) -> None:
    """A sender took a piece, perhaps handed it over, and died."""
    write("one")
    (row,) = outbox.claim("pigeon", "pigeon", "the dead one", 5)
    if handed:
        outbox.handed(row)
    assert outbox.claim_lost("pigeon", "pigeon", "another") == []
    Delivery.objects.filter(pk=row.pk).update(lease_until=timezone.now() - timedelta(seconds=1))


async def test_a_piece_whose_sender_was_killed_is_sent_once_more_labelled(surface: FakeSurface) -> None:
    await db.run(killed, handed=True)
    await work(2)
    assert surface.texts() == ["one"]
    assert surface.given[0][2]["label"]
    assert await db.run(states) == ["sent"]


async def test_what_a_killed_sender_had_not_handed_over_goes_as_if_nothing_had_been(surface: FakeSurface) -> None:
    def over_and_over() -> None:
        write("one")
        for _ in range(app.DELIVERY_MAX_ATTEMPTS + 1):
            (row,) = outbox.claim("pigeon", "pigeon", "dead", 5)
            Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
            (row,) = outbox.claim_lost("pigeon", "pigeon", "another")
            outbox.lost(row)

    await db.run(over_and_over)
    await work(2)
    assert surface.texts() == ["one"]
    assert "label" not in surface.given[0][2]
    assert await db.run(states) == ["sent"]


async def test_a_sender_that_slept_before_it_handed_over_sends_nothing(surface: FakeSurface) -> None:
    """Stopped while it waited for its turn; when it goes on, another has sent the piece."""
    await db.run(write, "one")

    async def long_turn(destination: Destination) -> Outcome | None:
        surface.turn = lambda destination: Surface.turn(surface, destination)  # type: ignore[method-assign]
        await db.run(lambda: Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1)))
        await work(2)
        assert surface.texts() == ["one"]
        return None

    surface.turn = long_turn  # type: ignore[method-assign]
    await work(3)
    assert surface.texts() == ["one"]
    assert await db.run(states) == ["sent"]


async def test_while_the_database_is_away_nothing_is_handed_over(
    surface: FakeSurface, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(row: Delivery) -> None:
        raise OperationalError("gone")

    await db.run(write, "one")
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "handed", away)
        await work(1)
    assert surface.texts() == []
    await db.run(lambda: Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1)))
    await work(2)
    assert surface.texts() == ["one"]
    assert "label" not in surface.given[0][2]


def test_a_sender_that_slept_through_its_lease_changes_nothing() -> None:
    write("one")
    (mine,) = outbox.claim("pigeon", "pigeon", "sleeper", 5)
    Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    (theirs,) = outbox.claim_lost("pigeon", "pigeon", "other")
    with pytest.raises(Fenced):
        dispatch.settle(mine, SENT)
    outbox.unknown(theirs, "lost")
    assert states() == ["pending"]


def test_two_senders_never_have_the_same_piece() -> None:
    for chat in "abcdef":
        write("one", chat=chat)
    first = outbox.claim("pigeon", "pigeon", "x", 3)
    second = outbox.claim("pigeon", "pigeon", "y", 10)
    assert {row.chat for row in first} | {row.chat for row in second} == set("abcdef")
    assert not {row.pk for row in first} & {row.pk for row in second}
    assert outbox.claim("pigeon", "pigeon", "z", 10) == []


def connect(user: Any, chat: str = "a", **more: Any) -> SurfaceLink:
    about = {"surface": "pigeon", "account": "pigeon", "external_id": chat, "chat": chat, "status": "active", **more}
    return SurfaceLink.objects.create(user=user, **about)


def fail(chat: str = "a") -> Delivery:
    """The next piece for a chat fails."""
    row = next(row for row in outbox.claim("pigeon", "pigeon", "x", 10) if row.chat == chat)
    outbox.failed(row, "Bad Request")
    return row


def chosen(*rows: Delivery) -> Any:
    return Delivery.objects.filter(pk__in=[row.pk for row in rows])


async def test_a_failed_piece_goes_again_with_the_rest_of_its_message_in_order(
    surface: FakeSurface, message: Message, user: Any
) -> None:
    def prepare() -> Delivery:
        connect(user)
        write("one", "two", "three", message=message)
        return fail()

    row = await db.run(prepare)
    assert await db.run(states) == ["failed", "cancelled", "cancelled"]
    assert await db.run(outbox.revive, chosen(row)) == outbox.Revived(again=3, disconnected=0)
    fields = ("status", "attempts", "not_before", "error", "repeated")
    assert set(await db.run(list, Delivery.objects.values_list(*fields))) == {("pending", 0, None, "", False)}
    await work(2)
    assert surface.texts() == ["one", "two", "three"]


def test_the_rest_counts_once_when_it_was_chosen_too(message: Message, user: Any) -> None:
    connect(user)
    write("one", "two", "three", message=message)
    fail()
    assert outbox.revive(Delivery.objects.all()).again == 3
    assert states() == ["pending"] * 3


def test_what_was_kept_back_goes_nowhere_without_the_piece_that_failed(message: Message, user: Any) -> None:
    connect(user)
    write("one", "two", "three", message=message)
    first = fail()
    Delivery.objects.filter(pk=first.pk).update(status="sent")
    second = Delivery.objects.get(piece=1)
    assert outbox.revive(chosen(second)).again == 0
    assert states() == ["sent", "cancelled", "cancelled"]


def test_other_messages_and_places_and_what_was_cancelled_on_purpose_stay(message: Message, user: Any) -> None:
    connect(user)
    write("one", "two", "three", message=message)
    row = fail()
    write("one", "two", chat="b", message=message)
    fail("b")
    Delivery.objects.filter(chat="a", piece=2).update(error="The account was disconnected.")
    assert outbox.revive(chosen(row)).again == 2
    assert states(chat="a") == ["pending", "pending", "cancelled"]
    assert states(chat="b") == ["failed", "cancelled"]


def test_what_was_deleted_meanwhile_stays_back(message: Message, user: Any) -> None:
    connect(user)
    write("one", "two", "three", message=message)
    row = fail()
    Delivery.objects.filter(piece=1).update(payload={})
    outbox.revive(chosen(row))
    assert states() == ["pending", "cancelled", "pending"]


@pytest.mark.parametrize("of", ["message", "conversation"])
def test_nothing_goes_again_to_an_account_that_was_disconnected(message: Message, user: Any, of: str) -> None:
    link = connect(user)
    write("one", "two", **({"message": message} if of == "message" else {"conversation": message.conversation}))
    fail()
    before = states()
    SurfaceLink.objects.filter(pk=link.pk).update(status="ended")
    everything = Delivery.objects.order_by("-pk")
    assert outbox.revive(everything).again == 0
    assert outbox.revive(everything).disconnected == before.count("failed") + before.count("pending")
    assert states() == before


def test_nothing_goes_again_to_a_chat_that_is_somebody_elses_now(message: Message, user: Any, other: Any) -> None:
    write("for ana", message=message)
    row = fail()
    connect(other)
    assert outbox.revive(chosen(row)) == outbox.Revived(again=0, disconnected=1)
    connect(user, "a", tenant="another", account="other bot")
    assert outbox.revive(chosen(row)) == outbox.Revived(again=0, disconnected=1)


def test_a_notice_to_a_stranger_may_go_again() -> None:
    write("who are you?")
    row = fail()
    assert outbox.revive(chosen(row)) == outbox.Revived(again=1, disconnected=0)
    assert states() == ["pending"]


def test_senders_are_rung_when_what_goes_again_is_committed() -> None:
    write("hello")
    row = fail()
    rung: list[int] = []

    def bell() -> None:
        rung.append(1)

    outbox.listen(bell)
    try:
        with transaction.atomic():
            outbox.revive(chosen(row))
            assert not rung
        assert rung
    finally:
        outbox.unlisten(bell)
