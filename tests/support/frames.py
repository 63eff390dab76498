"""Every frame a test receives is checked against the protocol's schema, which then allows nothing more."""

import copy
import json
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from crossmemory.attach.schema import document


def checked(text: str, side: str = "server") -> dict[str, Any]:
    """A frame as an object; fails when it is not one that `side` writes in version 1."""
    frame: dict[str, Any] = json.loads(text)
    kind = f"{side}.{frame['type']}"
    if kind == "server.structured_replay":
        check(kind, {**frame, "events": []})
        for event in frame["events"]:
            check_event(event)
    elif kind == "server.event":
        check_event(frame["event"])
    else:
        check(kind, frame)
    return frame


def check_event(event: dict[str, Any]) -> None:
    """One logged event, or a reference to it. Much faster than to try every type."""
    check("event.by_reference" if "ref" in event else f"event.{event['type']}", event)


def check(name: str, value: Any) -> None:
    """A value by one of the schema's definitions; the deepest error says what is wrong."""
    error = next(iter(_validator(name).iter_errors(value)), None)
    while error is not None and error.context:
        error = max(error.context, key=lambda each: len(each.path))
    assert error is None, f"{name}: {error.json_path}: {error.message}"


@cache
def _validator(name: str) -> Draft202012Validator:
    schema = closed()
    assert name in schema["$defs"], f"{name} is not in the protocol"
    registry: Registry[Any] = Registry().with_resource("protocol", Resource(schema, DRAFT202012))
    return Draft202012Validator({"$ref": f"protocol#/$defs/{name}"}, registry=registry)


@cache
def closed() -> dict[str, Any]:
    """The schema for what this server writes: a field that is not in it is a mistake here. (Readers let it pass.)"""
    schema = copy.deepcopy(document())
    _close(schema)
    return schema


def _close(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema["additionalProperties"] = False
        for each in schema.values():
            _close(each)
    elif isinstance(schema, list):
        for each in schema:
            _close(each)
