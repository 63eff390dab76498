"""Deciding about tools where one asked: by buttons, once, and only where person and tool allow it."""

import time
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import intake, linking, log, outbox, turns
from crossmemory.events import Actor
from crossmemory.models import Conversation, Delivery, Event, Owner, Run, SurfaceLink, ToolCall
from crossmemory.runs import cards, engine
from crossmemory.turns import Request
from tests.convergence.test_races import together
from tests.intake.phone import BOT, PERSON, arrive, buttons, claimed, press, told

pytestmark = pytest.mark.django_db(transaction=True)

BELL = Request("ring_bell", {"times": 3, "where": "harbour"}, title="Ring the harbour bell?")


@pytest.fixture
def link(user: Any) -> SurfaceLink:
    return SurfaceLink.objects.create(
        user=user, surface="telegram", account=BOT, external_id=str(PERSON), chat=str(PERSON), status="active",
        approvals=True,
    )  # fmt: skip


def asked(*requests: Request, text: str = "") -> list[ToolCall]:
    """The person asks on the phone, and the assistant asks back."""
    arrive("Please ring the bell", date=int(time.time()))
    return turns.await_approval(
        claimed(), None, text, requests or [BELL], None, saw={}, outgoing=engine.outgoing, asking=cards.ask
    )


def delivered() -> list[Delivery]:
    """All that waits goes out."""
    cards.close("telegram", BOT)
    rows = []
    while found := outbox.claim("telegram", BOT, "w", 10):
        for row in found:
            outbox.sent(row, str(100 + row.pk))
            rows.append(row)
    return rows


def test_the_card_has_buttons_and_says_what_is_asked(link: SurfaceLink) -> None:
    asked(text="I would ring the bell.")
    text, card = delivered()
    assert (text.payload["text"], text.payload.get("buttons")) == ("I would ring the bell.", None)
    assert card.payload["text"] == "Ring the harbour bell?\n\ntimes: 3\nwhere: harbour"
    assert list(buttons()) == ["Approve", "Deny"]
    assert all(len(data.encode()) <= 64 for data in buttons().values())


@pytest.mark.parametrize(("button", "decision", "word"), [("Approve", "approved", "✓"), ("Deny", "denied", "✗")])
def test_a_press_decides_once_and_the_card_says_so(link: SurfaceLink, button: str, decision: str, word: str) -> None:
    [call] = asked()
    [card] = delivered()
    data = buttons()
    assert press(data[button]).outcome == f"tool {decision}"
    call.refresh_from_db()
    assert (call.status, call.decided_where, call.decided_by) == (decision, "telegram", str(link.user_id))
    assert call.run.__class__.objects.get(pk=call.run_id).ready
    [closed] = delivered()
    assert closed.payload["edits"] == str(card.uid)
    assert f"{word} " in closed.payload["text"]
    assert "Telegram" in closed.payload["text"]
    assert press(data["Approve"]).outcome == "tool already_decided"
    assert (
        told()[-1]
        == {"approved": "This was approved already.", "denied": "This was not approved."}[decision] + " (Telegram)"
    )
    assert Event.objects.filter(type="approval.decided").count() == 1


def test_what_is_decided_on_the_site_closes_the_card_on_the_phone(link: SurfaceLink) -> None:
    [call] = asked()
    [card] = delivered()
    person = Actor("user", str(link.user_id))
    intake.decide(call.conversation, call.uid, "denied", call.args_hash, by=person, where="web")
    [closed] = delivered()
    assert closed.payload["edits"] == str(card.uid)
    assert "✗ Not approved · Web" in closed.payload["text"]
    assert delivered() == []


def test_what_expires_or_is_stopped_closes_the_card_too(link: SurfaceLink) -> None:
    asked()
    delivered()
    ToolCall.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    turns.expire()
    assert "Nobody decided in time" in delivered()[0].payload["text"]
    Run.objects.all().update(status="completed")
    Conversation.objects.update(active_seq=None)
    asked()
    delivered()
    turns.request_stop(linking.conversation_of(link), Actor("user", "1"))
    assert "No longer asked for" in delivered()[0].payload["text"]


def test_a_card_that_was_never_sent_is_not_sent_any_more(link: SurfaceLink) -> None:
    [call] = asked()
    intake.decide(call.conversation, call.uid, "denied", call.args_hash, by=Actor("user", "1"), where="web")
    assert delivered() == []
    assert Delivery.objects.get().status == "cancelled"


@pytest.mark.parametrize(
    ("allowed", "request_"),
    [
        (False, BELL),
        (True, Request("ring_bell", {}, surfaces=["web"])),
        (True, Request("ring_bell", {}, fresh_sign_in=600)),
    ],
    ids=["by nobody", "on the site alone", "after a fresh sign-in"],
)
def test_where_it_may_not_be_decided_the_card_sends_people_to_the_site(
    link: SurfaceLink, allowed: bool, request_: Request
) -> None:
    SurfaceLink.objects.update(approvals=allowed)
    [call] = asked(request_)
    [card] = delivered()
    assert "decide on the site" in card.payload["text"]
    assert "buttons" not in card.payload
    forged = f"tool:{call.uid.hex}:y:{call.args_hash[:16]}"
    assert press(forged).outcome == "tool not_here"
    call.refresh_from_db()
    assert call.status == "requested"


def test_permission_that_was_taken_back_counts_at_the_press(link: SurfaceLink) -> None:
    [call] = asked()
    delivered()
    SurfaceLink.objects.update(approvals=False)
    assert press(buttons()["Approve"]).outcome == "tool not_here"
    call.refresh_from_db()
    assert call.status == "requested"


@pytest.mark.parametrize("change", ["other arguments", "another call", "nonsense"])
def test_a_forged_press_gains_nothing(link: SurfaceLink, change: str) -> None:
    [call] = asked()
    delivered()
    data = {
        "other arguments": f"tool:{call.uid.hex}:y:{'0' * 16}",
        "another call": f"tool:{'0' * 32}:y:{call.args_hash[:16]}",
        "nonsense": "tool:../../etc:y",
    }[change]
    assert press(data).outcome in ("tool hash", "tool not_found")
    call.refresh_from_db()
    assert call.status == "requested"


def test_somebody_elses_press_gains_nothing(link: SurfaceLink, other: Any) -> None:
    [call] = asked()
    delivered()
    data = buttons()["Approve"]
    assert press(data, sender=77).outcome == "tool not_found"  # a stranger
    SurfaceLink.objects.create(
        user=other, surface="telegram", account=BOT, external_id="78", chat="78", status="active", approvals=True
    )
    assert press(data, sender=78).outcome == "tool not_found"
    call.refresh_from_db()
    assert call.status == "requested"


def test_long_arguments_are_cut_and_say_so(link: SurfaceLink) -> None:
    asked(Request("write", {"text": "word " * 2000}))
    [card] = delivered()
    assert len(card.payload["text"]) < 1500
    assert card.payload["text"].endswith("(All of it stands on the site.)")


def asked_on_the_web(user: Any, request: Request = BELL) -> ToolCall:
    """The person asks on the site, the assistant asks back, and a moment passes."""
    conversation = log.create(Owner.of(user), "web", title="Harbour")
    intake.say(conversation, "ring", author=Actor("user", str(user.pk)), client_id="1")
    [call] = turns.await_approval(
        claimed(), None, "", [request], None, saw={}, outgoing=engine.outgoing, asking=cards.ask
    )
    ToolCall.objects.update(created_at=timezone.now() - timedelta(seconds=cards.ELSEWHERE_SECONDS + 1))
    return call


def shown() -> list[Delivery]:
    cards.show_elsewhere("telegram", BOT)
    return delivered()


def test_what_was_asked_on_the_site_is_decided_on_the_phone(link: SurfaceLink, user: Any) -> None:
    call = asked_on_the_web(user)
    [card] = shown()
    assert card.payload["text"] == "Ring the harbour bell?\n\ntimes: 3\nwhere: harbour\n\n(Web: Harbour)"
    assert press(buttons()["Approve"]).outcome == "tool approved"
    call.refresh_from_db()
    assert (call.status, call.decided_where) == ("approved", "telegram")
    assert Run.objects.get(pk=call.run_id).ready
    [closed] = shown()
    assert "✓ Approved · Telegram" in closed.payload["text"]
    assert shown() == []


def test_it_is_shown_once_and_closed_by_who_decides_first(link: SurfaceLink, user: Any) -> None:
    call = asked_on_the_web(user)
    [card] = shown()
    assert shown() == []
    intake.decide(call.conversation, call.uid, "denied", call.args_hash, by=Actor("user", "1"), where="web")
    [closed] = shown()
    assert closed.payload["edits"] == str(card.uid)
    assert "✗ Not approved · Web" in closed.payload["text"]
    assert shown() == []


def test_what_was_decided_in_a_moment_is_never_shown_elsewhere(link: SurfaceLink, user: Any) -> None:
    call = asked_on_the_web(user)
    ToolCall.objects.update(created_at=timezone.now())
    assert shown() == []
    intake.decide(call.conversation, call.uid, "approved", call.args_hash, by=Actor("user", "1"), where="web")
    ToolCall.objects.update(created_at=timezone.now() - timedelta(minutes=1))
    assert shown() == []


@pytest.mark.parametrize(
    "account",
    [
        {"approvals": False},
        {"sharing": "separate"},
        {"unreachable": "blocked"},
        {"status": "ended"},
        {"tenant": "other"},
    ],
    ids=lambda account: next(iter(account)),
)
def test_an_account_that_does_not_decide_is_shown_nothing(
    link: SurfaceLink, user: Any, account: dict[str, Any]
) -> None:
    asked_on_the_web(user)
    SurfaceLink.objects.update(**account)
    assert shown() == []


@pytest.mark.parametrize("request_", [Request("pay", surfaces=["web"]), Request("pay", fresh_sign_in=300)])
def test_what_is_for_the_site_alone_stays_there(link: SurfaceLink, user: Any, request_: Request) -> None:
    asked_on_the_web(user, request_)
    assert shown() == []


def test_a_chat_that_is_kept_out_of_memory_is_shown_nowhere_else(link: SurfaceLink, user: Any) -> None:
    call = asked_on_the_web(user)
    log.set_shared(call.conversation, False)
    assert shown() == []


def test_another_assistants_bot_shows_nothing(link: SurfaceLink, user: Any) -> None:
    asked_on_the_web(user)
    Conversation.objects.filter(surface="web").update(agent="other")
    assert shown() == []


def test_of_senders_that_look_at_the_same_time_one_shows_it(link: SurfaceLink, user: Any) -> None:
    asked_on_the_web(user)
    shown = together(*[lambda: cards.show_elsewhere("telegram", BOT)] * 4)
    assert sorted(shown) == [0, 0, 0, 1]
    assert Delivery.objects.count() == 1
