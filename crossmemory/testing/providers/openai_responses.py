"""OpenAI's responses: POST /v1/responses with the whole history as `input`. The request rules that histories break."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crossmemory.memory import Call, Turn, Words
from crossmemory.testing.providers.base import MIB, Refusal, Rule, blank, fits, items, json_refusals, schema
from crossmemory.testing.providers.openai_chat import arguments_fit, tools_refusals

_API = "https://platform.openai.com/docs/api-reference/responses/create"
_CALLING = "https://platform.openai.com/docs/guides/function-calling"
_NAME = "[a-zA-Z0-9_-]{1,64}"
_ROLES = ("developer", "system", "user", "assistant")

JSON = Rule("json", "the body is not valid JSON in UTF-8", _API)
SIZE = Rule("size", "the body is larger than 50 MB", "https://platform.openai.com/docs/guides/images-vision")
INPUT = Rule("input", "input is a text or a list with at least one item", _API)
TYPE = Rule("type", "an item is a message, a function_call, a function_call_output or another known type", _API)
ROLE = Rule("role", f"role is one of {', '.join(_ROLES)}", _API)
CONTENT = Rule("content", "a message has content, and none of its texts is empty", _API)
PART = Rule("part", "a person's content is input_text, an assistant's output_text", _API)
CALL_ID = Rule("call_id", "a function_call has a call_id of 1 to 64 characters, and no other one has it", _API)
CALL_NAME = Rule("call_name", f"a function's name matches ^{_NAME}$", _API)
ARGUMENTS = Rule("arguments", "arguments is a JSON object, as text", _CALLING)
ANSWERED = Rule("answered", "No tool output found for function call", _CALLING)
ORPHAN = Rule("orphan", "No tool call found for function call output", _CALLING)
TOOLS = Rule("tools", "tools has at least 1 and at most 128 functions, each with a name of its own", _API)


def refusals(body: Any) -> list[Refusal]:
    """Why the API would answer 400."""
    if found := json_refusals(body, 50 * MIB, JSON, SIZE):
        return found
    given = body.get("input") if isinstance(body, Mapping) else None
    if isinstance(given, str) and not blank(given):
        return []
    if not isinstance(given, list) or not given:
        return [Refusal(INPUT, "input")]
    called: dict[str, bool] = {}
    for index, item in items(given):
        where = f"input[{index}]"
        match item.get("type", "message"):
            case "message":
                found += _message(item, where)
            case "function_call":
                if not fits(".{1,64}", item.get("call_id")) or item["call_id"] in called:
                    found.append(Refusal(CALL_ID, where))
                called[str(item.get("call_id"))] = False
                if not fits(_NAME, item.get("name")):
                    found.append(Refusal(CALL_NAME, where))
                if not arguments_fit(item.get("arguments")):
                    found.append(Refusal(ARGUMENTS, where))
            case "function_call_output":
                if called.get(str(item.get("call_id")), True):
                    found.append(Refusal(ORPHAN, where))
                called[str(item.get("call_id"))] = True
            case "reasoning" | "item_reference":
                pass
            case _:
                found.append(Refusal(TYPE, where))
    found += [Refusal(ANSWERED, f"input: {call}") for call, answered in called.items() if not answered]
    return found + tools_refusals(body, TOOLS, CALL_NAME)


def _message(item: Mapping[str, Any], where: str) -> list[Refusal]:
    found: list[Refusal] = []
    role, content = item.get("role"), item.get("content")
    if role not in _ROLES:
        found.append(Refusal(ROLE, where))
    if not isinstance(content, list):
        return [*found, Refusal(CONTENT, where)] if blank(content) else found
    if not content:
        found.append(Refusal(CONTENT, where))
    texts = {"output_text", "refusal"} if role == "assistant" else {"input_text", "input_image", "input_file"}
    for place, part in items(content):
        if part.get("type") not in texts:
            found.append(Refusal(PART, f"{where}.content[{place}]"))
        if part.get("type") in ("input_text", "output_text") and not part.get("text"):
            found.append(Refusal(CONTENT, f"{where}.content[{place}]"))
    return found


def request(turns: Sequence[Turn], instructions: str = "", tools: Sequence[str] = ()) -> dict[str, Any]:
    """A body of repaired turns."""
    given: list[dict[str, Any]] = []
    for turn in turns:
        given += [
            {"type": "function_call_output", "call_id": each.id, "output": json.dumps(each.content, ensure_ascii=False)}
            for each in turn.results
        ]
        for block in turn.blocks:
            if isinstance(block, Words):
                kind = "input_text" if turn.role == "user" else "output_text"
                given.append({"role": turn.role, "content": [{"type": kind, "text": block.text}]})
            elif isinstance(block, Call):
                arguments = json.dumps(block.arguments, ensure_ascii=False)
                given.append({"type": "function_call", "call_id": block.id, "name": block.name, "arguments": arguments})
    body: dict[str, Any] = {"model": "gpt-5.6-luna", "input": given, "store": False}
    if instructions:
        body["instructions"] = instructions
    if tools:
        body["tools"] = [{"type": "function", "name": name, "parameters": schema(), "strict": False} for name in tools]
    return body
