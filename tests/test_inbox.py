"""What came in is stored once, handled in order, tried again, and parked when it cannot be handled."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from crossmemory import inbox
from crossmemory.conf import settings as app
from crossmemory.inbox import Incoming
from crossmemory.intake.schedule import Schedule, Waiting
from crossmemory.models import Delivery, InboundUpdate, SurfaceLink

pytestmark = pytest.mark.django_db(transaction=True)

ACCOUNT = "7000000001"


def store(external_id: str, sender: str = "1", account: str = ACCOUNT, raw: bytes = b"{}") -> bool:
    return inbox.store("telegram", account, external_id, "message", raw, sender)


def due(busy: tuple[str, ...] = ()) -> list[str]:
    """What may be handled now, oldest first."""
    schedule = Schedule(lambda: 0.0)
    schedule.load([Waiting(*each) for each in inbox.waiting("telegram", ACCOUNT, 100)], ())
    return [row.external_id for row in inbox.rows(schedule.take(10, busy))]


def row(external_id: str) -> InboundUpdate:
    return InboundUpdate.objects.get(external_id=external_id, account=ACCOUNT)


def test_an_update_is_stored_once_per_account() -> None:
    assert store("1")
    assert not store("1")
    assert store("1", account="7099999999")


def test_a_lower_id_after_a_quiet_week_is_new() -> None:
    assert store("727000500")
    assert store("117200040")
    assert due() == ["727000500"]
    inbox.done(row("727000500"))
    assert due() == ["117200040"]


@pytest.mark.parametrize(("hours", "rows"), [(0, 1), (23, 1), (25, 2), (24 * 8, 2), (24 * 400, 2)])
def test_an_id_that_returns_once_nothing_can_be_repeated_is_something_new(hours: float, rows: int) -> None:
    """Telegram's ids start anywhere after a quiet week: also where they have been before."""
    for raw in (b"before", b"now", b"now"):
        inbox.store_all("telegram", ACCOUNT, [Incoming("117200040", "message", raw, "1")], ids_return=True)
        if raw == b"before":
            aged("117200040", hours)
            store("117200040", account="7099999999")
    found = InboundUpdate.objects.filter(account=ACCOUNT).order_by("pk")
    assert [bytes(each.raw) for each in found] == [b"before", b"now"][:rows]
    assert bytes(row("117200040").raw) == (b"before" if rows == 1 else b"now")
    assert InboundUpdate.objects.filter(external_id="117200040", account="7099999999").exists()


def test_an_id_that_never_returns_is_known_for_ever() -> None:
    store("wamid.1")
    aged("wamid.1", 24 * 6)
    inbox.store_all("telegram", ACCOUNT, [Incoming("wamid.1", "message", b"again", "1")])
    assert InboundUpdate.objects.count() == 1


def test_a_batch_is_stored_with_what_is_known_left_alone() -> None:
    store("1", raw=b"first")
    inbox.store_all("telegram", ACCOUNT, [Incoming(str(n), "message", b"again", "1") for n in (1, 2, 2, 3)])
    assert sorted(InboundUpdate.objects.values_list("external_id", flat=True)) == ["1", "2", "3"]
    assert bytes(row("1").raw) == b"first"


def test_odd_words_in_a_batch_are_stored_cleaned() -> None:
    inbox.store_all("telegram", ACCOUNT, [Incoming("1", "k\x00ind" * 50, b"\x00\xff", "s\ud83c")])
    assert bytes(row("1").raw) == b"\x00\xff"
    assert len(row("1").kind) == 64


def test_one_persons_updates_come_in_order_and_others_do_not_wait() -> None:
    for external_id, sender in [("1", "a"), ("2", "a"), ("3", "b"), ("4", ""), ("5", "")]:
        store(external_id, sender)
    assert due() == ["1", "3", "4", "5"]
    assert due(busy=("a",)) == ["3", "4", "5"]
    inbox.done(row("1"))
    assert due() == ["2", "3", "4", "5"]


def test_a_failing_row_is_tried_a_few_times_then_parked_and_the_next_one_is_handled() -> None:
    store("1", "a")
    store("2", "a")
    store("3", "b")
    poisoned = row("1")
    for attempt in range(1, app.INBOX_MAX_ATTEMPTS):
        assert inbox.retry(poisoned, f"trouble {attempt}")
        assert due() == ["3"]  # its sender waits a little, others do not
    assert not inbox.retry(poisoned, "ValueError: the last trouble")
    assert (row("1").status, row("1").error) == ("dead", "ValueError: the last trouble")
    assert due() == ["2", "3"]
    assert inbox.revive(InboundUpdate.objects.filter(external_id="1")) == 1
    assert due() == ["1", "3"]


def test_a_row_is_claimed_by_one() -> None:
    store("1")
    with transaction.atomic():
        assert inbox.claim(row("1"))
        inbox.done(row("1"), "message")
    with transaction.atomic():
        assert not inbox.claim(row("1"))


def test_words_of_strangers_are_forgotten_within_a_day_and_all_raw_later(user: Any) -> None:
    link = SurfaceLink.objects.create(
        user=user, surface="telegram", account=ACCOUNT, external_id="known", status="active", chat="known"
    )
    for external_id, sender, hours in [
        ("fresh", "stranger", 1),
        ("old", "stranger", app.UNLINKED_HOURS + 1),
        ("known", "known", app.UNLINKED_HOURS + 1),
        ("ancient", "known", app.RAW_DAYS * 24 + 1),
    ]:
        store(external_id, sender, raw=b"words")
        aged(external_id, hours)
    InboundUpdate.objects.filter(external_id="ancient").update(link=link)
    store("waiting", "stranger", raw=b"words")
    assert inbox.clean_up() == 2
    kept = {r.external_id: (bytes(r.raw), r.sender) for r in InboundUpdate.objects.all()}
    assert "old" not in kept
    assert kept["ancient"] == (b"", "")
    assert kept["fresh"] == (b"words", "stranger")
    assert kept["known"] == (b"words", "known")
    assert kept["waiting"][0] == b"words"
    assert inbox.clean_up() == 0


def test_a_strangers_empty_row_stays_while_the_platform_may_repeat_it(settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "UNLINKED_HOURS": 1}
    store("1", "stranger", raw=b"words")
    aged("1", 2)
    assert inbox.clean_up() == 1
    assert (bytes(row("1").raw), row("1").sender) == (b"", "")
    assert not inbox.store("telegram", ACCOUNT, "1", "message", b"words", "stranger")
    aged("1", 25)
    assert inbox.clean_up() == 1
    assert not InboundUpdate.objects.exists()


def test_nothing_is_left_of_somebody_who_did_not_confirm(user: Any) -> None:
    for status, hours in [("pending", 1), ("pending", 25), ("ended", 25), ("active", 25)]:
        SurfaceLink.objects.create(
            user=user, surface="telegram", account=ACCOUNT, external_id=f"{status}{hours}", name="Noor", status=status,
            created_at=timezone.now() - timedelta(hours=hours),
        )  # fmt: skip
    Delivery.objects.create(
        surface="telegram", account=ACCOUNT, chat="x", payload={"text": "hello"}, inbound=None, status="pending"
    )
    inbox.clean_up()
    assert set(SurfaceLink.objects.values_list("external_id", flat=True)) == {"pending1", "active25"}
    assert Delivery.objects.count() == 1


def test_what_a_stranger_was_told_is_forgotten_with_them() -> None:
    store("1", "stranger", raw=b"words")
    aged("1", 25)
    for status in ("pending", "sent", "sending"):
        Delivery.objects.create(
            surface="telegram", account=ACCOUNT, chat=status, payload={"text": "hello"}, inbound=row("1"),
            status=status, created_at=timezone.now() - timedelta(hours=25),
        )  # fmt: skip
    inbox.clean_up()
    assert [each.chat for each in Delivery.objects.all()] == ["sending"]


def aged(external_id: str, hours: float) -> None:
    """It was handled so long ago."""
    InboundUpdate.objects.filter(external_id=external_id).update(
        received_at=timezone.now() - timedelta(hours=hours), status="done"
    )
