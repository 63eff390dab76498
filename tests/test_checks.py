"""Misconfiguration is a system check with an id and a hint."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.checks import run_checks

SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": "x"}
POSTGRES = {"ENGINE": "django.db.backends.postgresql", "NAME": "x"}


def ids() -> set[str]:
    found = [message for message in run_checks(tags=["crossmemory"]) if str(message.id).startswith("crossmemory.")]
    assert all(message.hint or message.id in ("crossmemory.E006", "crossmemory.E014") for message in found)
    return {str(message.id) for message in found}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"AGENT": {}}, "crossmemory.E001"),
        ({"AGENTS": {"default": {"BACKEND": "nowhere.Agent"}}}, "crossmemory.E002"),
        (
            {"AGENTS": {"default": {"BACKEND": "crossmemory.agents.recall.RecallAgent", "OPTIONS": {"spead": 1}}}},
            "crossmemory.E002",
        ),
        ({"TENANT": "nowhere.tenant"}, "crossmemory.E005"),
        ({"TOKEN_COUNTER": "nowhere.count"}, "crossmemory.E005"),
        (
            {
                "AGENTS": {
                    "default": {
                        "BACKEND": "crossmemory.agents.callable.CallableAgent",
                        "OPTIONS": {"FUNCTION": "nowhere.reply"},
                    }
                }
            },
            "crossmemory.E006",
        ),
        ({"PLACEMENT": "sideways"}, "crossmemory.E007"),
        ({"SURFACES": {}}, "crossmemory.E008"),
        (
            {"SURFACES": {"web": {"BACKEND": "crossmemory.surfaces.web.WebSurface", "OPTIONS": {"agent": "gone"}}}},
            "crossmemory.E009",
        ),
        ({"ATTACHMENT_STORAGE": "attic"}, "crossmemory.E010"),
        ({"DESCRIBER": "nowhere.describe"}, "crossmemory.E005"),
        (
            {"AGENTS": {"default": {"BACKEND": "crossmemory.agents.recall.RecallAgent", "ALLOWED": "nowhere.allowed"}}},
            "crossmemory.E014",
        ),
        (
            {
                "AGENTS": {
                    "default": {
                        "BACKEND": "crossmemory.agents.recall.RecallAgent",
                        "ALLOWED": "tests.test_checks.SQLITE",
                    }
                }
            },
            "crossmemory.E014",
        ),
    ],
)
def test_a_wrong_setting_is_named(settings: Any, change: dict[str, Any], expected: str) -> None:
    assert expected not in ids()
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, **change}
    assert expected in ids()


def test_naive_time_is_refused(settings: Any) -> None:
    settings.USE_TZ = False
    assert "crossmemory.E003" in ids()


def test_files_in_the_working_directory_are_told(settings: Any) -> None:
    assert "crossmemory.W003" not in ids()
    settings.MEDIA_ROOT = ""
    assert "crossmemory.W003" in ids()


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ({**SQLITE, "OPTIONS": {"transaction_mode": "IMMEDIATE"}}, set()),
        (SQLITE, {"crossmemory.W001"}),
        ({**POSTGRES, "CONN_MAX_AGE": 60}, set()),
        ({**POSTGRES, "OPTIONS": {"pool": True}}, set()),
        (POSTGRES, {"crossmemory.W002"}),
        ({"ENGINE": "django.db.backends.mysql", "NAME": "x"}, {"crossmemory.E004"}),
    ],
)
def test_databases_that_cannot_keep_the_promises_are_named(
    monkeypatch: pytest.MonkeyPatch, database: dict[str, Any], expected: set[str]
) -> None:
    monkeypatch.setattr(django_settings, "DATABASES", {"default": database})
    assert ids() - {"crossmemory.I001"} == expected


def test_a_layer_that_processes_do_not_share_is_told(settings: Any) -> None:
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    assert "crossmemory.I001" in ids()
    settings.CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer"}}
    assert "crossmemory.I001" not in ids()
