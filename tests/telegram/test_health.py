"""`crossmemory_health` tells how a bot does, and not how it did."""

import json
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from crossmemory.models import Poller
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
    assert (code, shown["state"], shown["problems"]) == (1, "stopped", ["Receiving: stopped."])


def test_a_bot_that_holds_its_place_without_success_is_unhealthy() -> None:
    PollerFactory(account=BOT, last_success_at=timezone.now() - timedelta(minutes=3))
    assert health()[0] == 1


def test_a_bot_that_never_polled_is_unhealthy() -> None:
    code, shown = health()
    assert (code, shown["state"]) == (1, "never")


@pytest.fixture
def address(settings: Any) -> str:
    settings.ROOT_URLCONF = "tests.telegram.urls"
    return "/health/"


def test_supervisors_ask_an_address(client: Client, address: str) -> None:
    assert client.get(address).status_code == 503
    polled()
    answer = client.get(address)
    assert (answer.status_code, answer.json()) == (
        200, {"status": "healthy", "surfaces": [{"surface": "telegram", "state": "ok"}]},
    )  # fmt: skip
    Poller.objects.update(state="conflict", detail="somebody else")
    answer = client.get(address)
    assert (answer.status_code, answer.json()["status"]) == (503, "unhealthy")
    assert "somebody" not in answer.content.decode()


def test_staff_are_told_the_particulars(client: Client, address: str, user: Any, admin_user: Any) -> None:
    polled(state="conflict", detail="somebody else")
    client.force_login(user)
    assert "somebody" not in client.get(address).content.decode()
    client.force_login(admin_user)
    assert client.get(address).json()["surfaces"][0]["detail"] == "somebody else"
