"""An answer that comes late says what it answers, in the person's time and language."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone, translation

from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage, QueueRun
from crossmemory.models import Delivery, Owner, Preference, Run
from crossmemory.runs import engine, lateness

pytestmark = pytest.mark.django_db(transaction=True)

NOW = datetime(2026, 3, 10, 7, 30, tzinfo=UTC)
PLACE = {"surface": "telegram", "account": "7000000001", "chat": "1", "topic": "", "reply_to": ""}


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timezone, "now", lambda: NOW)


def asked(user: Any, *moments: datetime | None) -> Run:
    """A run that answers what was said at these moments, by the platform's clock."""
    conversation = log.get_or_create_singleton(Owner(user.pk), "telegram", "[Telegram]")
    for number, moment in enumerate(moments):
        message = NewMessage("user", Actor("user", str(user.pk)), f"question {number}", sent_at=moment)
        log.append_message(conversation, message, QueueRun("default", PLACE))
    return Run.objects.get(conversation=conversation)


@pytest.mark.parametrize(
    ("moments", "expected"),
    [
        ([NOW - timedelta(minutes=9)], ""),
        ([None], ""),
        ([NOW + timedelta(hours=1)], ""),
        ([NOW - timedelta(hours=5, minutes=20)], "You asked at 3:10 a.m.:"),
        ([NOW - timedelta(days=2)], "You asked at 03/08/2026 8:30 a.m.:"),
        ([NOW - timedelta(hours=5), NOW - timedelta(hours=4)], "You asked between 3:30 a.m. and 4:30 a.m.:"),
        ([NOW - timedelta(hours=5), NOW - timedelta(hours=5), NOW], "You asked at 3:30 a.m.:"),
    ],
)
def test_it_is_said_when_it_was_asked(user: Any, moments: list[datetime | None], expected: str) -> None:
    Preference.objects.create(user=user, time_zone="Europe/Madrid")
    assert lateness.preface(asked(user, *moments)) == expected


def test_in_spanish(user: Any) -> None:
    with translation.override("es"):
        assert "2:10" in lateness.preface(asked(user, NOW - timedelta(hours=5, minutes=20)))


async def test_several_questions_are_answered_together_with_their_time(user: Any, script: Any) -> None:
    from crossmemory import db

    late = NOW - timedelta(hours=5, minutes=20)
    await db.run(asked, user, late, late + timedelta(minutes=5))
    await engine.run_waiting("test")
    delivery = await Delivery.objects.aget()
    assert delivery.payload["text"].startswith("You asked between 2:10 a.m. and 2:15 a.m.:\n\nanswer to question 0")
    message = await delivery._meta.model.objects.select_related("message").aget()
    assert message.message is not None
    assert message.message.text == "answer to question 0\nquestion 1"  # the log says when by itself


async def test_an_answer_in_time_says_nothing_of_it(user: Any, script: Any) -> None:
    from crossmemory import db

    await db.run(asked, user, NOW)
    await engine.run_waiting("test")
    assert (await Delivery.objects.aget()).payload["text"] == "answer to question 0"
