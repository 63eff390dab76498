"""What a person may use in a day ends with a clear text, and begins anew at their midnight."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import budget, linking
from crossmemory.models import Message, Owner, Preference, SurfaceLink
from tests.intake.phone import arrive, told

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def limit(settings: Any) -> Any:
    def set_limit(**limits: int) -> None:
        settings.CROSSMEMORY = {**settings.CROSSMEMORY, **limits}

    return set_limit


@pytest.fixture
def noon(link: SurfaceLink, monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is noon by the site's clock, so that no test runs over midnight. The account is connected before that: a
    code's time is compared with the database's clock."""
    moment = datetime.now(UTC).replace(hour=12)
    monkeypatch.setattr(timezone, "now", lambda: moment)
    return moment


def test_messages_are_counted_warned_about_and_refused_with_the_time(noon: Any, limit: Any, link: SurfaceLink) -> None:
    limit(DAILY_MESSAGES=5)
    outcomes = [arrive(f"message {number}").outcome for number in range(8)]
    assert outcomes == [
        *["message"] * 3, "message, budget nearly spent", "message", "over budget", *["over budget, known"] * 2,
    ]  # fmt: skip
    warning, refusal = told()
    assert "1 more message today" in warning
    assert "have not read this message" in refusal
    assert "midnight (UTC)" in refusal
    assert Message.objects.count() == 5


def test_tokens_are_counted_over_all_answers_of_the_day(
    noon: datetime, monkeypatch: pytest.MonkeyPatch, limit: Any, link: SurfaceLink
) -> None:
    limit(DAILY_TOKENS=1000)
    owner = Owner(link.user_id)
    assert arrive("one").outcome == "message"
    budget.spend(owner, {"input_tokens": 700, "output_tokens": 150})
    assert arrive("two").outcome == "message, budget nearly spent"
    assert "Most of what" in told()[-1]
    budget.spend(owner, {"input_tokens": 150, "output_tokens": 0, "details": "x"})
    assert arrive("three").outcome == "over budget"
    assert arrive("/again").outcome == "/again"
    assert "used up" in told()[-1]
    monkeypatch.setattr(timezone, "now", lambda: noon + timedelta(days=1))
    assert arrive("tomorrow").outcome == "message"


def test_the_day_is_the_persons_own_and_a_new_time_zone_does_not_begin_another(
    noon: datetime, monkeypatch: pytest.MonkeyPatch, limit: Any, link: SurfaceLink
) -> None:
    limit(DAILY_MESSAGES=1)
    Preference.objects.update_or_create(user=link.user, defaults={"time_zone": "Pacific/Auckland"})
    monkeypatch.setattr(timezone, "now", lambda: noon - timedelta(hours=5))
    arrive("yesterday evening there")
    monkeypatch.setattr(timezone, "now", lambda: noon)  # the same day in UTC, the next one there
    assert arrive("this morning there").outcome.startswith("message")
    assert arrive("too much").outcome == "over budget"
    assert "Pacific/Auckland" in told()[-1]
    Preference.objects.update(time_zone="America/Lima")
    assert arrive("there it is still yesterday").outcome.startswith("over budget")


def test_one_persons_budget_is_not_anothers(noon: Any, limit: Any, other: Any, link: SurfaceLink) -> None:
    limit(DAILY_MESSAGES=1)
    SurfaceLink.objects.create(
        user=other, surface="telegram", account="7000000001", external_id="77", chat="77", status="active"
    )
    arrive("mine")
    assert arrive("theirs", sender=77).outcome.startswith("message")
    assert linking.active("telegram", "7000000001", "77") is not None


def test_commands_work_without_a_budget(noon: Any, limit: Any, link: SurfaceLink) -> None:
    limit(DAILY_MESSAGES=1)
    arrive("one")
    assert arrive("two").outcome == "over budget"
    assert arrive("/help").outcome == "/help"
