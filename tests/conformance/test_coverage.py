"""Nothing of the protocol is without a script: event types, frames, codes, duties."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crossmemory import events
from crossmemory.attach import consumer, follower, schema
from crossmemory.events import TYPES
from tests.conformance.scripts import FOLDER, scripts

#: words that no frame carries, or that need a database that is away: shown by tests of their own
ELSEWHERE = {"agent_not_allowed", "unavailable", "refused", "not_allowed", "fenced", "link"}


def told(kind: str) -> str:
    return "\n".join(path.read_text() for path in sorted((FOLDER / kind).glob("*.yaml")))


def values(value: Any, key: str) -> Iterator[Any]:
    """Everything that stands under a key, at any depth."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name == key:
                yield each
            yield from values(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from values(each, key)


def types(kind: str) -> set[str]:
    return {each for _, script in scripts(kind) for each in values(script, "type") if isinstance(each, str)}


def test_every_event_type_has_a_script_for_clients_and_for_servers() -> None:
    assert set(TYPES) <= types("client")
    assert set(TYPES) <= types("server")


def test_every_frame_has_a_script() -> None:
    for kind in ("client", "server"):
        missing = set(schema.SERVER) - types(kind)
        assert missing <= ({"pong"} if kind == "client" else set()), (kind, missing)
    assert set(schema.CLIENT) - {"pong"} <= types("server")
    assert set(schema.CLIENT) <= types("client")


def test_every_word_that_a_server_refuses_with_has_a_script() -> None:
    source = Path(consumer.__file__).read_text() + Path(events.__file__).with_name("exceptions.py").read_text()
    source += (Path(events.__file__).parent / "turns" / "approvals.py").read_text()
    used = set(re.findall(r'_bad\("(\w+)"', source)) | set(re.findall(r'^    code = "(\w+)"', source, re.MULTILINE))
    of_no_socket = {"error", "append_only", "unknown_event", "misconfigured", "unsupported"}
    scripted = {each for _, script in scripts("server") for each in values(script, "code")}
    assert used - of_no_socket - ELSEWHERE <= scripted


def test_every_close_code_has_a_script() -> None:
    codes = {consumer.NOT_SIGNED_IN, consumer.NOT_ALLOWED, consumer.PROTOCOL, consumer.RESYNC}
    codes |= {follower.GONE, follower.TOO_SLOW}
    assert codes <= {each for _, script in scripts("client") for each in values(script, "closes")}
    # RESYNC is trouble of the server's: a test of its own
    assert codes - {consumer.RESYNC} <= {each for _, script in scripts("server") for each in values(script, "closed")}


def test_every_duty_of_a_client_is_shown() -> None:
    assert {duty for _, script in scripts("client") for duty in script["duties"]} == set(range(1, 9))


def test_names_tell_scripts_apart() -> None:
    for kind in ("client", "server"):
        names = [name for name, _ in scripts(kind)]
        assert len(names) == len(set(names))
        assert json.dumps(names)
