"""Staff pause and resume in the admin."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from crossmemory.models import Pause
from crossmemory.testing.factories import PauseFactory, RunFactory
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import page

pytestmark = pytest.mark.django_db


def test_a_pause_is_made_with_a_text_and_shown(boss: Client) -> None:
    RunFactory()
    boss.post(page(Pause, "add"), {"surface": "web", "agent": "", "notice": "Back at ten."})
    row = Pause.objects.get()
    assert (row.surface, row.agent, row.notice) == ("web", "", "Back at ten.")
    body = boss.get(page(Pause, "changelist")).content.decode()
    assert "Back at ten." in body
    assert '<td class="field-waiting">1</td>' in body
    assert "Paused: Web" in boss.get("/admin/crossmemory/").content.decode()


def test_the_same_is_not_paused_twice(boss: Client) -> None:
    PauseFactory()
    answer = boss.post(page(Pause, "add"), {"surface": "", "agent": "", "notice": ""})
    assert answer.status_code == 200
    assert Pause.objects.count() == 1


def test_only_what_there_is_can_be_paused(boss: Client) -> None:
    for wrong in ({"surface": "pigeon"}, {"agent": "nobody"}):
        assert boss.post(page(Pause, "add"), {"surface": "", "agent": "", "notice": "", **wrong}).status_code == 200
    assert not Pause.objects.exists()


def test_the_text_of_what_is_gone_from_the_settings_can_be_changed(boss: Client) -> None:
    row = PauseFactory(surface="pigeon")
    boss.post(page(Pause, "change", row.pk), {"surface": "pigeon", "agent": "", "notice": "Gone."})
    assert Pause.objects.get().notice == "Gone."


def test_one_or_many_are_resumed_and_who_did_it_is_known(boss: Client, caplog: Any) -> None:
    rows = [PauseFactory(surface=surface) for surface in ("web", "telegram", "")]
    boss.post(page(Pause, "changelist"), {"action": "resume", "_selected_action": [row.pk for row in rows[:2]]})
    assert Pause.objects.get() == rows[2]
    boss.post(page(Pause, "delete", rows[2].pk), {"post": "yes"})
    assert not Pause.objects.exists()
    assert LogEntry.objects.filter(action_flag=3).count() == 3
    assert "Resumed: web, telegram." in caplog.text
    assert "Resumed: everything." in caplog.text


def test_who_may_only_look_can_not_pause(helper: Any) -> None:
    row = PauseFactory()
    client = signed_in(helper)
    assert client.get(page(Pause, "changelist")).status_code == 200
    assert client.post(page(Pause, "add"), {"surface": "web"}).status_code == 403
    client.post(page(Pause, "changelist"), {"action": "resume", "_selected_action": [row.pk]})
    assert Pause.objects.exists()
    helper.user_permissions.add(*permissions("delete_pause"))
    signed_in(helper).post(page(Pause, "changelist"), {"action": "resume", "_selected_action": [row.pk]})
    assert not Pause.objects.exists()
