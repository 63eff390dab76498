"""Failed deliveries and dead updates are found, and put right."""

from typing import Any

import pytest
from django.test import Client

from crossmemory import outbox
from crossmemory.models import Delivery, InboundUpdate
from crossmemory.testing.factories import (
    ConversationFactory,
    DeliveryFactory,
    InboundUpdateFactory,
    SurfaceLinkFactory,
    UserFactory,
)
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import page

pytestmark = pytest.mark.django_db


def act(client: Client, model: type, action: str, *rows: Any) -> int:
    data = {"action": action, "_selected_action": [row.pk for row in rows]}
    return client.post(page(model, "changelist"), data).status_code


def statuses(model: Any) -> list[str]:
    return list(model.objects.order_by("pk").values_list("status", flat=True))


@pytest.fixture
def deliveries(db: None) -> list[Delivery]:
    """One of each status, to a connected account."""
    conversation = ConversationFactory(user=SurfaceLinkFactory(chat="5001").user)
    return [
        DeliveryFactory(message__conversation=conversation, status=status, attempts=3, error="no")
        for status in Delivery.Status.values
    ]


def test_deliveries_go_again(boss: Client, deliveries: list[Delivery], django_capture_on_commit_callbacks: Any) -> None:
    rung: list[int] = []

    def bell() -> None:
        rung.append(1)

    outbox.listen(bell)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            act(boss, Delivery, "retry", *deliveries)
    finally:
        outbox.unlisten(bell)
    assert statuses(Delivery) == ["pending", "sending", "sent", "pending", "pending", "blocked", "cancelled"]
    again = Delivery.objects.filter(status="pending")
    assert set(again.values_list("attempts", "error", "not_before")) == {(0, "", None)}
    assert list(again.order_by("pk").values_list("repeated", flat=True)) == [False, True, False]
    assert rung


def test_a_piece_whose_account_was_disconnected_is_not_sent_and_that_is_said(boss: Client) -> None:
    link = SurfaceLinkFactory(chat="5001", status="ended")
    lost = DeliveryFactory(message__conversation__user=link.user, status="failed")
    notice = DeliveryFactory(message=None, conversation=None, status="failed", chat="999")
    data = {"action": "retry", "_selected_action": [lost.pk, notice.pk]}
    answer = boss.post(page(Delivery, "changelist"), data, follow=True)
    assert [str(message) for message in answer.context["messages"]] == [
        "1 piece will be sent again.",
        "1 piece is not sent: that account is no longer connected.",
    ]
    assert statuses(Delivery) == ["failed", "pending"]


def test_what_was_deleted_is_not_sent(boss: Client) -> None:
    link = SurfaceLinkFactory(chat="5001")
    row = DeliveryFactory(message__conversation__user=link.user, status="failed", payload={})
    act(boss, Delivery, "retry", row)
    assert statuses(Delivery) == ["failed"]


def test_deliveries_are_cancelled(boss: Client, deliveries: list[Delivery]) -> None:
    act(boss, Delivery, "cancel", *deliveries)
    assert statuses(Delivery) == ["cancelled", "sending", "sent", "cancelled", "cancelled", "blocked", "cancelled"]


def test_dead_updates_are_tried_again_or_skipped(boss: Client) -> None:
    rows = [InboundUpdateFactory(status=status, attempts=5) for status in ("dead", "done", "dead")]
    expired = InboundUpdateFactory(status="dead", raw=b"")
    act(boss, InboundUpdate, "retry", rows[0], rows[1], expired)
    assert statuses(InboundUpdate) == ["received", "done", "dead", "dead"]
    act(boss, InboundUpdate, "skip", *rows, expired)
    assert statuses(InboundUpdate) == ["received", "done", "skipped", "skipped"]


def test_looking_is_not_acting(helper: Any) -> None:
    failed, dead = DeliveryFactory(status="failed"), InboundUpdateFactory(status="dead")
    client = signed_in(helper)
    act(client, Delivery, "retry", failed)
    act(client, InboundUpdate, "skip", dead)
    assert (statuses(Delivery), statuses(InboundUpdate)) == (["failed"], ["dead"])


def test_staff_who_may_change_them_act(helper: Any) -> None:
    failed = DeliveryFactory(message=None, conversation=None, status="failed")
    helper.user_permissions.add(*permissions("change_delivery"))
    act(signed_in(helper), Delivery, "retry", failed)
    assert statuses(Delivery) == ["pending"]


def test_what_needs_attention_is_a_filter(boss: Client, deliveries: list[Delivery]) -> None:
    InboundUpdateFactory()
    dead = InboundUpdateFactory(status="dead")
    found = boss.get(page(Delivery, "changelist"), {"attention": "1"}).context["cl"].result_list
    assert {row.status for row in found} == {"unknown", "failed"}
    found = boss.get(page(InboundUpdate, "changelist"), {"attention": "1"}).context["cl"].result_list
    assert [row.pk for row in found] == [dead.pk]


def test_a_raw_update_that_is_no_json_is_shown_as_it_is(boss: Client) -> None:
    row = InboundUpdateFactory(raw=b"\xff{not json")
    body = boss.get(page(InboundUpdate, "change", row.pk)).content.decode()
    assert "\\xff{not json" in body


def test_an_update_of_nobody_opens(boss: Client) -> None:
    row = InboundUpdateFactory()
    UserFactory()
    assert boss.get(page(InboundUpdate, "change", row.pk)).status_code == 200
