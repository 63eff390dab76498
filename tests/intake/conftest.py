from typing import Any

import pytest

from crossmemory import linking, runs
from crossmemory.models import Delivery, SurfaceLink
from tests.intake.phone import arrive


@pytest.fixture(autouse=True)
def _no_runner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "wake", lambda after=0: None)


@pytest.fixture
def link(user: Any) -> SurfaceLink:
    """Ana's phone is connected."""
    code, _ = linking.create_code(user, "telegram", "both")
    arrive(f"/start {code}")
    (pending,) = linking.accounts(user)
    confirmed = linking.confirm(user, pending.uid)
    Delivery.objects.all().delete()
    return confirmed
