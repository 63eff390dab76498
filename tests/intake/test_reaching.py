"""Who shut the bot out is left alone until they let it in again: by what they did last, in whatever order it comes."""

from typing import Any

import pytest

from crossmemory import inbox, outbox
from crossmemory.intake.worker import handle_or_retry
from crossmemory.models import Delivery, InboundUpdate, Message, Run, SurfaceLink
from tests.intake.phone import BOT, PERSON, arrive, handled, told

pytestmark = pytest.mark.django_db

GROUP = {"id": -4821093375, "type": "group"}


def change(status: str, date: int, was: str = "member", **more: Any) -> dict[str, Any]:
    """What the platform says when somebody changes what the bot may do in a chat."""
    return {
        "chat": {"id": PERSON, "type": "private"}, "from": {"id": PERSON, "is_bot": False, "first_name": "Ines"},
        "date": date, "old_chat_member": {"status": was}, "new_chat_member": {"status": status}, **more,
    }  # fmt: skip


def changes(status: str, date: int, **more: Any) -> InboundUpdate:
    return handled(change(status, date, **more), "my_chat_member")


def shut_out() -> bool:
    return SurfaceLink.objects.exclude(unreachable="").exists()


def write(text: str) -> None:
    outbox.write({"surface": "telegram", "account": BOT, "chat": str(PERSON)}, [{"text": text, "proactive": True}])


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
@pytest.mark.parametrize("last", ["kicked", "member"])
def test_what_was_done_last_counts_in_whatever_order_it_comes(
    link: SurfaceLink, order: tuple[int, ...], last: str
) -> None:
    first = {"kicked": "member", "member": "kicked"}[last]
    steps = [(last, 1767230000), (first, 1767230060), (last, 1767230120)]
    for place in order:
        changes(*steps[place])
    assert shut_out() is (last == "kicked")
    assert not Run.objects.exists()


def test_a_message_says_that_the_bot_was_let_in_again(link: SurfaceLink) -> None:
    arrive("I am here", date=1767230060)
    assert changes("kicked", 1767230000).outcome == "unreachable, outdated"
    assert not shut_out()
    changes("kicked", 1767230120)
    assert shut_out()


def test_what_was_said_in_a_group_says_nothing_about_the_private_chat(link: SurfaceLink) -> None:
    arrive("hello all", chat=GROUP, date=1767230060)
    changes("kicked", 1767230000)
    assert shut_out()


def test_a_parked_change_that_is_tried_again_later_changes_nothing(
    link: SurfaceLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(outbox, "block", lambda *args: 1 / 0)
        parked = changes("kicked", 1767230000)
    changes("member", 1767230060, was="kicked")
    InboundUpdate.objects.filter(pk=parked.pk).update(status="dead")
    assert inbox.revive(InboundUpdate.objects.filter(pk=parked.pk)) == 1
    assert handle_or_retry(InboundUpdate.objects.get(pk=parked.pk))
    assert not shut_out()


def test_nothing_is_said_and_nothing_is_lost(link: SurfaceLink) -> None:
    arrive("before")
    write("waits")
    changes("kicked", 1767230000)
    changes("member", 1767230060, was="kicked")
    assert Message.objects.get().text == "before"
    assert Delivery.objects.get(payload__text="waits").status == "blocked"
    assert told() == ["waits"]


@pytest.mark.parametrize("kind", ["group", "supergroup", "channel"])
def test_being_added_or_removed_elsewhere_marks_nobody(link: SurfaceLink, kind: str) -> None:
    for status in ("member", "administrator", "restricted", "left", "kicked"):
        row = changes(status, 1767230000, chat={"id": GROUP["id"], "type": kind})
        assert (row.status, row.outcome) == ("skipped", f"membership {status}")
    assert not shut_out()
    assert told() == told(GROUP["id"]) == []  # type: ignore[arg-type]
