"""Gemini's generateContent and streamGenerateContent. The request rules that histories break."""

from collections.abc import Mapping, Sequence
from typing import Any

from crossmemory.memory import Call, Result, Turn, Words
from crossmemory.memory.repair import merged
from crossmemory.testing.providers.base import MIB, Refusal, Rule, fits, items, json_refusals, schema

_API = "https://ai.google.dev/api/generate-content"
_CONTENT = "https://ai.google.dev/api/caching#Content"
_CALLING = "https://ai.google.dev/gemini-api/docs/function-calling"
_NAME = "[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}"
_KINDS = (
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
)

JSON = Rule("json", "the body is not valid JSON in UTF-8", _API)
SIZE = Rule("size", "the body is larger than 20 MB", "https://ai.google.dev/gemini-api/docs/image-understanding")
CONTENTS = Rule("contents", "contents is not specified", _API)
ROLE = Rule("role", "role is user or model", _CONTENT)
PARTS = Rule("parts", "contents.parts must not be empty", _CONTENT)
PART = Rule("part", "a part has exactly one of its data fields initialized", _CONTENT)
FIRST = Rule("first", "a multi-turn request begins with a user turn", _CALLING)
LAST = Rule("last", "a single-turn request, and the last turn, is the user's or a function response", _API)
AFTER = Rule(
    "after", "a function call turn comes immediately after a user turn or after a function response turn", _CALLING
)
COUNT = Rule(
    "count",
    "the number of function response parts equals the number of function call parts of the function call turn",
    _CALLING,
)
NAMES = Rule("names", "function responses have the names of the calls that they answer", _CALLING)
ORPHAN = Rule("orphan", "a function response turn comes immediately after a function call turn", _CALLING)
SIDE = Rule("side", "function calls are the model's, function responses the user's", _CONTENT)
CALL_NAME = Rule("call_name", f"a function's name matches ^{_NAME}$", _CALLING)
STRUCT = Rule("struct", "args and response are objects", _CONTENT)


def refusals(body: Any) -> list[Refusal]:
    """Why the API would answer 400 (INVALID_ARGUMENT)."""
    if found := json_refusals(body, 20 * MIB, JSON, SIZE):
        return found
    contents = body.get("contents") if isinstance(body, Mapping) else None
    if not isinstance(contents, list) or not contents:
        return [Refusal(CONTENTS, "contents")]
    for index, content in items(contents):
        where = f"contents[{index}]"
        if content.get("role") not in ("user", "model"):
            found.append(Refusal(ROLE, where))
        if not content.get("parts"):
            found.append(Refusal(PARTS, where))
        for place, part in items(content.get("parts")):
            found += _part(part, content.get("role"), f"{where}.parts[{place}]")
    found += _order(contents)
    if contents[0].get("role") != "user":
        found.append(Refusal(FIRST, "contents[0]"))
    if contents[-1].get("role") != "user":
        found.append(Refusal(LAST, f"contents[{len(contents) - 1}]"))
    for _place, tool in items(body.get("tools")):
        for _index, function in items(tool.get("functionDeclarations")):
            if not fits(_NAME, function.get("name")):
                found.append(Refusal(CALL_NAME, f"tools: {function.get('name')!r}"))
    return found


def _part(part: Mapping[str, Any], role: Any, where: str) -> list[Refusal]:
    found: list[Refusal] = []
    if sum(kind in part for kind in _KINDS) != 1 or part.get("text") == "":
        found.append(Refusal(PART, where))
    for kind, side, field in (("functionCall", "model", "args"), ("functionResponse", "user", "response")):
        if kind in part:
            if role != side:
                found.append(Refusal(SIDE, where))
            if not fits(_NAME, part[kind].get("name")):
                found.append(Refusal(CALL_NAME, where))
            if not isinstance(part[kind].get(field, {}), Mapping):
                found.append(Refusal(STRUCT, where))
    return found


def _order(contents: Sequence[Mapping[str, Any]]) -> list[Refusal]:
    """Calls come right after the user's turn, and their responses right after them, as many."""
    found: list[Refusal] = []
    calls: list[Any] = []
    before: Any = None
    for index, content in items(contents):
        where = f"contents[{index}]"
        named = [part["functionCall"].get("name") for _n, part in items(content.get("parts")) if "functionCall" in part]
        answers = [
            part["functionResponse"].get("name")
            for _n, part in items(content.get("parts"))
            if "functionResponse" in part
        ]
        if answers and not calls:
            found.append(Refusal(ORPHAN, where))
        elif len(answers) != len(calls):
            found.append(Refusal(COUNT, where))
        elif sorted(map(str, answers)) != sorted(map(str, calls)):
            found.append(Refusal(NAMES, where))
        if named and before != "user":
            found.append(Refusal(AFTER, where))
        calls, before = named, content.get("role")
    if calls:
        found.append(Refusal(COUNT, f"contents[{len(contents) - 1}]"))
    return found


def request(turns: Sequence[Turn], instructions: str = "", tools: Sequence[str] = ()) -> dict[str, Any]:
    """A body of repaired turns. Contents of one role are merged: a call has to come right after the user's turn."""
    contents = [
        {"role": "model" if turn.role == "assistant" else "user", "parts": [_made(block) for block in turn.blocks]}
        for turn in merged(turns)
    ]
    body: dict[str, Any] = {"contents": contents}
    if instructions:
        body["systemInstruction"] = {"parts": [{"text": instructions}]}
    if tools:
        body["tools"] = [{"functionDeclarations": [{"name": name, "parameters": schema()} for name in tools]}]
    return body


def _made(block: Any) -> dict[str, Any]:
    match block:
        case Words(text):
            return {"text": text}
        case Call(_id, name, arguments):
            return {"functionCall": {"name": name, "args": arguments}}
        case Result(_id, name, content, failed):
            return {"functionResponse": {"name": name, "response": {"error" if failed else "result": content}}}
    raise TypeError(f"{block!r} is no block of a repaired turn.")
