"""What version 1 said stays readable: frames as they were written once, never written again.

`golden/server.json` is what one device was given over three connections (a `cursor` begins one), `client.json` what a
client may send. A change that makes a test here fail breaks clients and logs that are out there.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from crossmemory import log
from crossmemory.attach import fold
from crossmemory.attach.schema import document
from crossmemory.models import Owner
from tests.support.frames import checked
from tests.support.stage import played, set_stage, settled
from tests.support.telling import digest
from tests.support.wire import Wire

FOLDER = Path(__file__).resolve().parent / "golden"
FOLD = FOLDER.parent.parent / "js" / "fold.mjs"


def golden(name: str) -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / f"{name}.json").read_text()))


def frames() -> list[dict[str, Any]]:
    return [each for each in golden("server") if "cursor" not in each]


def schema_of(name: str) -> Draft202012Validator:
    return Draft202012Validator({**document(), "anyOf": [{"$ref": f"#/$defs/{name}"}]})


@pytest.mark.parametrize("side", ["server", "client"])
def test_the_schema_of_today_accepts_them(side: str) -> None:
    validator = schema_of(side)
    for frame in frames() if side == "server" else golden("client"):
        assert [error.message for error in validator.iter_errors(frame)] == []


def test_references_too() -> None:
    for reference in golden("references"):
        assert schema_of("event").is_valid(reference)


def test_every_type_of_version_1_is_among_them() -> None:
    kinds = {each["type"] for each in frames()}
    assert {"structured_replay", "event", "delta", "ping", "pong", "ack", "nack", "error"} <= kinds
    events = [event for each in frames() for event in each.get("events", [each.get("event")]) if event]
    assert len({event["type"] for event in events}) == 26


def folded() -> fold.State:
    state = fold.State()
    for frame in frames():
        if frame["type"] == "structured_replay":
            state = fold.apply_batch(state, frame)
        elif frame["type"] == "event":
            state = fold.reduce(state, frame["event"])
        elif frame["type"] == "delta":
            state, missing = fold.apply_delta(state, frame)
            assert missing is None
    return state


def test_the_python_client_of_today_shows_what_they_say() -> None:
    state = folded()
    assert (state.cursor, state.title, state.run) == ("k7Qgolden:62", "Chíos", "idle")
    messages = [item for item in state.items if item["kind"] == "message"]
    assert [(item["id"][-1], item["status"], item["text"]) for item in messages] == [
        ("1", "complete", 'Hi 🙂 "there"\n'),
        ("2", "complete", "Hello **you**"),
        ("3", "redacted", ""),
        ("4", "complete", "one more, please"),
        ("5", "interrupted", "I was"),
        ("6", "complete", "Again?"),
        ("7", "interrupted", ""),
        ("8", "complete", "Hm"),
        ("9", "complete", "Done."),
    ]
    tools = [item for item in state.items if item["kind"] == "tool"]
    assert [(item["name"], item["status"]) for item in tools[:2]] == [("look", "completed"), ("look", "failed")]
    assert tools[2]["approval"]["decision"] == "approved"


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_of_today_shows_the_same() -> None:
    tape = json.dumps({"floor": 1, "tape": golden("server")})
    done = subprocess.run(["node", str(FOLD)], input=tape, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == digest(folded(), 1)


@pytest.mark.django_db
def test_the_server_of_today_takes_what_clients_sent(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_stage(monkeypatch)
    stage.user = user
    answers: list[dict[str, Any]] = []

    async def send() -> None:
        wire = Wire(conversation, "", lambda text: answers.append(checked(text)), lambda code: None)
        for frame in golden("client"):
            wire.send(frame)
        await settled()
        await wire.ended()

    conversation = log.create(Owner.of(user), "web", "Trip")
    played(send())
    kinds = [each["type"] for each in answers if each["type"] != "structured_replay"]
    assert kinds == ["ack", "ack", "ack", "nack", "nack", "pong", "pong"]
