"""OpenAI's chat completions: POST /v1/chat/completions. The request rules that histories break.

Many servers speak this format and are stricter than OpenAI's own: `BLANK` and `LAST` are theirs.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crossmemory.memory import Turn
from crossmemory.memory.repair import merged
from crossmemory.testing.providers.base import MIB, Refusal, Rule, blank, fits, items, json_refusals, schema

_API = "https://platform.openai.com/docs/api-reference/chat/create"
_CALLING = "https://platform.openai.com/docs/guides/function-calling"
_NAME = "[a-zA-Z0-9_-]{1,64}"
#: how Mistral's servers check a request
_STRICTER = "https://github.com/mistralai/mistral-common/blob/main/src/mistral_common/protocol/instruct/validator.py"
_ROLES = ("developer", "system", "user", "assistant", "tool", "function")
_SPEAKING = ("developer", "system", "user", "tool", "function")

JSON = Rule("json", "the body is not valid JSON in UTF-8", _API)
SIZE = Rule("size", "the body is larger than 50 MB", "https://platform.openai.com/docs/guides/images-vision")
MESSAGES = Rule("messages", "messages is a list with at least one message", _API)
ROLE = Rule("role", f"role is one of {', '.join(_ROLES)}", _API)
CONTENT = Rule("content", "a message has content; an assistant's may instead have tool_calls", _API)
BLANK = Rule("blank", "a text is not empty", _STRICTER)
NAME = Rule("name", f"a name matches ^{_NAME}$", _API)
CALL_ID = Rule("call_id", "a tool call has an id of 1 to 40 characters, and no other call of the message has it", _API)
CALL_NAME = Rule("call_name", f"a function's name matches ^{_NAME}$", _API)
ARGUMENTS = Rule("arguments", "arguments is a JSON object, as text", _CALLING)
ANSWERED = Rule(
    "answered", "an assistant message with tool_calls is followed by a tool message for each tool_call_id", _CALLING
)
ORPHAN = Rule("orphan", "a tool message is a response to a preceding message with tool_calls", _CALLING)
TOOLS = Rule("tools", "tools has at least 1 and at most 128 functions, each with a name of its own", _API)
LAST = Rule("last", "the last message is a user's or a tool's: there is something to answer", _STRICTER)


def refusals(body: Any) -> list[Refusal]:
    """Why the API would answer 400."""
    if found := json_refusals(body, 50 * MIB, JSON, SIZE):
        return found
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, list) or not messages:
        return [Refusal(MESSAGES, "messages")]
    waiting: list[str] = []
    for index, message in items(messages):
        where, role = f"messages[{index}]", message.get("role")
        if role not in _ROLES:
            found.append(Refusal(ROLE, f"{where}.role"))
        if role == "tool":
            if message.get("tool_call_id") in waiting:
                waiting.remove(message["tool_call_id"])
            else:
                found.append(Refusal(ORPHAN, where))
        elif waiting:
            found.append(Refusal(ANSWERED, f"{where}: no result for {', '.join(map(str, waiting))}"))
            waiting = []
        if message.get("name") is not None and not fits(_NAME, message["name"]):
            found.append(Refusal(NAME, f"{where}.name"))
        found += _content(message, where)
        calls = message.get("tool_calls")
        if calls is not None:
            found += _calls(calls, where)
            waiting = [str(call.get("id")) for _place, call in items(calls)]
    if waiting:
        found.append(Refusal(ANSWERED, f"messages: no result for {', '.join(waiting)}"))
    if messages[-1].get("role") not in _SPEAKING:
        found.append(Refusal(LAST, f"messages[{len(messages) - 1}]"))
    return found + tools_refusals(body, TOOLS, CALL_NAME)


def tools_refusals(body: Mapping[str, Any], rule: Rule, name_rule: Rule) -> list[Refusal]:
    """Of the declared functions, in either of OpenAI's two shapes."""
    if "tools" not in body:
        return []
    names = [tool.get("function", tool).get("name") for _place, tool in items(body["tools"])]
    found = [Refusal(name_rule, f"tools: {name!r}") for name in names if not fits(_NAME, name)]
    if not 1 <= len(names) <= 128 or len(set(names)) != len(names):
        found.append(Refusal(rule, "tools"))
    return found


def arguments_fit(text: Any) -> bool:
    """Whether they are a JSON object, as text."""
    try:
        return isinstance(json.loads(text), dict)
    except (TypeError, ValueError):
        return False


def _content(message: Mapping[str, Any], where: str) -> list[Refusal]:
    content, role = message.get("content"), message.get("role")
    if isinstance(content, list):
        if not content:
            return [Refusal(CONTENT, f"{where}.content")]
        texts = [(place, part.get("text")) for place, part in items(content) if part.get("type") == "text"]
        return [Refusal(BLANK, f"{where}.content[{place}]") for place, text in texts if text == "" or text is None]
    if role == "assistant" and message.get("tool_calls"):
        return []
    if role == "tool":
        return [] if isinstance(content, str) else [Refusal(CONTENT, f"{where}.content")]
    if not isinstance(content, str):
        return [Refusal(CONTENT, f"{where}.content")]
    return [Refusal(BLANK, f"{where}.content")] if blank(content) else []


def _calls(calls: Any, where: str) -> list[Refusal]:
    found: list[Refusal] = []
    if not calls:
        found.append(Refusal(CONTENT, f"{where}.tool_calls"))
    ids: set[str] = set()
    for place, call in items(calls):
        here, function = f"{where}.tool_calls[{place}]", call.get("function") or {}
        if not fits(".{1,40}", call.get("id")) or call["id"] in ids:
            found.append(Refusal(CALL_ID, here))
        ids.add(str(call.get("id")))
        if not fits(_NAME, function.get("name")):
            found.append(Refusal(CALL_NAME, here))
        if not arguments_fit(function.get("arguments")):
            found.append(Refusal(ARGUMENTS, here))
    return found


def request(turns: Sequence[Turn], instructions: str = "", tools: Sequence[str] = ()) -> dict[str, Any]:
    """A body of repaired turns, with the end of the instructions marked for the cache. Roles alternate, which servers
    that speak the same may ask for."""
    mark = {"type": "text", "text": instructions, "prompt_cache_breakpoint": {"mode": "explicit"}}
    messages: list[dict[str, Any]] = [{"role": "developer", "content": [mark]}] if instructions else []
    for turn in merged(turns):
        messages += [
            {"role": "tool", "tool_call_id": each.id, "content": json.dumps(each.content, ensure_ascii=False)}
            for each in turn.results
        ]
        if turn.role == "user":
            messages += [{"role": "user", "content": turn.text}] if turn.text else []
            continue
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
                }
                for call in turn.calls
            ]
        messages.append(message)
    body: dict[str, Any] = {"model": "gpt-5.6-luna", "messages": messages}
    if tools:
        body["tools"] = [{"type": "function", "function": {"name": name, "parameters": schema()}} for name in tools]
    return body
