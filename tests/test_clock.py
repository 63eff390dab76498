"""The database's clock is set back by a day: nobody has to wait until it has caught up."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from crossmemory import inbox, outbox, turns
from crossmemory.models import Delivery, InboundUpdate, Poller, Run
from crossmemory.surfaces.telegram.place import Place
from crossmemory.testing.factories import DeliveryFactory, InboundUpdateFactory, PollerFactory, RunFactory

pytestmark = pytest.mark.django_db(transaction=True)

HERE = ("telegram", "7000000001")
#: what was begun an hour before the clock was set back, and what was begun a moment ago
BEFORE, LATELY = timedelta(days=1), timedelta(seconds=5)


def a_lost_piece(ends: timedelta) -> bool:
    DeliveryFactory(status="sending", worker="dead")
    Delivery.objects.update(lease_until=Now() + ends)
    return bool(outbox.claim_lost(*HERE, "me"))


def a_piece_that_waits(ends: timedelta) -> bool:
    DeliveryFactory()
    Delivery.objects.update(not_before=Now() + ends + (timedelta(days=1) if ends == BEFORE else timedelta()))
    return bool(outbox.claim(*HERE, "me", 5))


def an_update_that_is_tried_again(ends: timedelta) -> bool:
    InboundUpdateFactory()
    InboundUpdate.objects.update(not_before=Now() + ends)
    [(_key, _sender, due)] = inbox.waiting(*HERE, 5)
    return due


def a_run_of_a_dead_process(ends: timedelta) -> bool:
    run = RunFactory()
    turns.claim(run.pk, "dead", lambda *_: None)
    Run.objects.update(lease_until=Now() + ends)
    return turns.claim(run.pk, "me", lambda *_: None) is not None


def a_run_that_waits_for_more(ends: timedelta) -> bool:
    RunFactory()
    Run.objects.update(not_before=Now() + ends)
    return bool(turns.claimable())


def a_bot_whose_process_was_killed(ends: timedelta) -> bool:
    PollerFactory(account=HERE[1], owner="dead")
    Poller.objects.update(lease_until=Now() + ends)
    return Place(*HERE, "me").take()


@pytest.mark.parametrize(
    "is_taken",
    [
        a_lost_piece,
        a_piece_that_waits,
        an_update_that_is_tried_again,
        a_run_of_a_dead_process,
        a_run_that_waits_for_more,
        a_bot_whose_process_was_killed,
    ],
)
@pytest.mark.parametrize(("ends", "taken"), [(BEFORE, True), (LATELY, False), (-LATELY, True)])
def test_what_ends_later_than_any_can_is_over(
    is_taken: Callable[[timedelta], bool], ends: timedelta, taken: bool
) -> None:
    assert is_taken(ends) is taken
