"""What stays out, and the reason that a manifest gives."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import linking, log, memory
from crossmemory.events import Actor
from crossmemory.exceptions import Invalid
from crossmemory.memory import beside
from crossmemory.models import Message, Owner
from crossmemory.models.guard import log_writes
from tests.memory.places import answer, ask, reasons, setting, texts, web

pytestmark = pytest.mark.django_db


def test_a_group_neither_feeds_nor_receives_whatever_is_set(user: Any) -> None:
    group = log.create(Owner.of(user), "telegram", "Telegram: Harbour", shared=True, reads=True, group_chat=True)
    asked = ask(group, "said before others")
    memory.record(user, "telegram", "user", "said in private")
    assert texts(memory.build_context(group, trigger=asked).messages) == ["said before others"]
    phone, chat = memory.get_singleton(user, "telegram"), web(user)
    for place in (phone, chat):
        context = memory.build_context(place)
        assert "said before others" not in texts(context.messages)
        assert reasons(context)["said before others"] == "group"
    for change in (log.set_shared, log.set_reads):
        with pytest.raises(Invalid, match="group"):
            change(group, True)
    with pytest.raises(Invalid, match="group"):
        linking.set_exchange(group, shared=True, reads=True)
    log.set_shared(group, False)
    assert "said before others" not in texts(memory.load_cross_context(user))


def test_a_manifest_says_why_each_message_is_left_out(user: Any, settings: Any) -> None:
    setting(settings, MAX_MESSAGES=2)
    phone = memory.get_singleton(user, "telegram")
    for text in ("long ago", "before the boundary"):
        memory.record(user, "telegram", "user", text)
    log.open_afresh(phone, Actor("user", str(user.pk)))
    for text in ("old", "refused one", "deleted one", "too many", "one", "two"):
        memory.record(user, "telegram", "user", text)
    ask(web(user, shared=False), "kept out")
    other = web(user)
    writing = answer(other, ask(other, "unanswered"), "half an ans")
    with log_writes():
        Message.objects.filter(text="old").update(created_at=timezone.now() - timedelta(hours=30))
        Message.objects.filter(text="refused one").update(status="refused")
        Message.objects.filter(conversation=other, seq=writing).update(status="interrupted")
        # Said to be deleted, with its words still there so that the test can name it.
        Message.objects.filter(text="deleted one").update(status="redacted")
    context = memory.build_context(phone, trigger=ask(phone, "now"))
    assert texts(context.messages) == ["unanswered", "now"]
    found = reasons(context)
    assert {text: found[text] for text in ("refused one", "deleted one", "kept out", "half an ans")} == {
        "refused one": "refused",
        "deleted one": "deleted",
        "kept out": "not shared",
        "half an ans": "unfinished",
    }
    assert found["two"] == "count"
    setting(settings, MAX_MESSAGES=8)
    found = reasons(memory.build_context(phone, trigger=ask(phone, "and now")))
    assert (found["old"], found["before the boundary"]) == ("window", "boundary")


def test_every_reason_has_words_for_staff_and_for_people() -> None:
    from typing import get_args

    from crossmemory.admin.saw import REASONS
    from crossmemory.memory.types import Reason
    from crossmemory.text import CHAT

    assert set(REASONS) == set(get_args(Reason))
    assert {f"reason_{reason.replace(' ', '_')}" for reason in get_args(Reason)} <= set(CHAT)


def test_duplicates_of_a_sites_own_history_are_told(user: Any) -> None:
    memory.record_turn(user, "telegram", "When does my ferry leave?", "At 07:35 from gate E4.")
    recent = memory.load_surface_recent(user)
    history = [{"role": message.role, "content": message.text} for message in recent]
    kept, out = beside.missing(recent, history)
    assert kept == []
    assert [left.reason for left in out] == ["duplicate", "duplicate"]
    assert memory.prepend_recent(history, user) == history


@pytest.mark.parametrize(
    "history",
    [
        [("user", "yes")],
        [("user", "yes"), ("assistant", "ok")],
        [("user", "Shall I?"), ("user", "yes"), ("assistant", "ok"), ("user", "and now?")],
    ],
)
def test_an_equal_text_said_elsewhere_is_no_duplicate(user: Any, history: Any) -> None:
    memory.record_turn(user, "telegram", "yes", "ok")
    given = [{"role": role, "content": text} for role, text in history]
    assert [entry["content"] for entry in memory.prepend_recent(given, user)][:2] == ["yes", "ok"]
