"""`crossmemory_health` tells how a bot does, and not how it did."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from crossmemory.testing.factories import PollerFactory
from tests.telegram.conftest import BOT, TOKEN

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _a_bot(settings: Any) -> None:
    backend = {"BACKEND": "crossmemory.surfaces.telegram.TelegramSurface", "OPTIONS": {"token": TOKEN}}
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "SURFACES": {"telegram": backend}}


def health() -> tuple[int, dict[str, Any]]:
    """The exit code, and what is said of the bot."""
    out, code = StringIO(), 0
    try:
        call_command("crossmemory_health", "--json", stdout=out)
    except SystemExit as end:
        code = int(str(end.code))
    (shown,) = json.loads(out.getvalue())["surfaces"]
    return code, shown


def polled(**about: Any) -> None:
    PollerFactory(account=BOT, last_success_at=timezone.now(), **about)


def test_a_bot_that_polls_is_healthy() -> None:
    polled()
    code, shown = health()
    assert (code, shown["state"], shown["problems"]) == (0, "ok", [])


@pytest.mark.parametrize("state", ["conflict", "backing_off", "unauthorised"])
def test_trouble_is_unhealthy(state: str) -> None:
    polled(state=state)
    code, shown = health()
    assert (code, shown["state"], len(shown["problems"])) == (1, state, 1)


def test_a_bot_whose_process_was_killed_is_stopped_at_once() -> None:
    polled(lease_until=timezone.now() - timedelta(seconds=1))
    code, shown = health()
    assert (code, shown["state"], shown["problems"]) == (1, "stopped", ["Polling: stopped."])


def test_a_bot_that_holds_its_place_without_success_is_unhealthy() -> None:
    PollerFactory(account=BOT, last_success_at=timezone.now() - timedelta(minutes=3))
    assert health()[0] == 1


def test_a_bot_that_never_polled_is_unhealthy() -> None:
    code, shown = health()
    assert (code, shown["state"]) == (1, "never")
