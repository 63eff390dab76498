"""The committed schema is the protocol that the code speaks."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from jsonschema import Draft202012Validator

from crossmemory.attach import frames
from crossmemory.attach.consumer import AttachConsumer
from crossmemory.attach.schema import CLIENT, document
from crossmemory.events import TYPES, RunStarted
from tests.support.frames import check, checked

ROOT = Path(__file__).resolve().parent.parent.parent
COMMITTED = ROOT / "docs/protocol/schema.json"


def test_the_committed_schema_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    call_command("crossmemory_schema")
    assert COMMITTED.read_text() == capsys.readouterr().out, "manage.py crossmemory_schema > docs/protocol/schema.json"


def test_it_is_a_schema_and_knows_every_event() -> None:
    Draft202012Validator.check_schema(document())
    assert {f"event.{kind}" for kind in TYPES} <= set(document()["$defs"])


def test_every_client_frame_that_is_handled_is_in_the_schema() -> None:
    assert set(AttachConsumer._HANDLERS) <= set(CLIENT)


def test_a_field_that_the_schema_lacks_is_noticed() -> None:
    event = {
        "seq": 4,
        "type": "run.started",
        "v": 1,
        "at": "2026-11-30T10:00:00.123456Z",
        "actor": {"type": "agent", "id": "default"},
        "surface": "web",
        "run": "r",
        "client_id": None,
        "data": RunStarted(attempt=1).as_json(),
    }
    check("event", event)
    for wrong in ({"data": {"attempt": "1"}}, {"data": {}}, {"data": {"attempt": 1, "x": 1}}, {"v": 2}, {"x": 1}):
        with pytest.raises(AssertionError):
            check("event.run.started", {**event, **wrong})


def test_readers_let_pass_what_they_do_not_know() -> None:
    committed: dict[str, Any] = json.loads(COMMITTED.read_text())
    validator = Draft202012Validator({**committed, "$ref": "#/$defs/server.pong", "anyOf": [True]})
    assert validator.is_valid({"type": "pong", "from_the_future": 1})


def test_frames_that_are_not_of_this_version_are_noticed() -> None:
    with pytest.raises(AssertionError):
        checked(frames.frame("pung"))
    with pytest.raises(AssertionError):
        checked(frames.frame("pong", m=1))
