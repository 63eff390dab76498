import pytest

from tests.support.stage import Stage, set_stage


@pytest.fixture
def stage(monkeypatch: pytest.MonkeyPatch) -> Stage:
    return set_stage(monkeypatch)
