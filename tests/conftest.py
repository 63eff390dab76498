from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from django.db import connections

from crossmemory import broadcast, db
from tests.support.runner import ScriptedAgent


@pytest.fixture(scope="session", autouse=True)
def end_threads(request: pytest.FixtureRequest) -> Iterator[None]:
    """The app's threads hold connections: they end before the test database goes."""
    if any(
        item.get_closest_marker("django_db") or "db" in getattr(item, "fixturenames", ())
        for item in request.session.items
    ):
        request.getfixturevalue("django_db_setup")
    yield
    broadcast.stop()
    db.close_threads()
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()  # of `await Model.objects.aget()`


@pytest.fixture
def user(django_user_model: Any, db: None) -> Any:
    return django_user_model.objects.create_user("ana", password="demo")


@pytest.fixture
def other(django_user_model: Any, db: None) -> Any:
    return django_user_model.objects.create_user("ben", password="demo")


@pytest.fixture
def script(settings: Any) -> Iterator[type[ScriptedAgent]]:
    """The agent says what the test sets as `script.script`."""
    agents = {"default": {"BACKEND": "tests.support.runner.ScriptedAgent"}}
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "AGENTS": agents}
    ScriptedAgent.forget()
    yield ScriptedAgent
    ScriptedAgent.forget()
