"""Anthropic's messages: POST /v1/messages. The request rules that histories break."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from crossmemory.memory import Call, Result, Turn, Words
from crossmemory.memory.repair import merged
from crossmemory.testing.providers.base import MIB, Refusal, Rule, blank, fits, items, json_refusals, schema

_API = "https://platform.claude.com/docs/en/api/messages"
_ERRORS = "https://platform.claude.com/docs/en/api/errors"
_TOOLS = "https://platform.claude.com/docs/en/agents-and-tools/tool-use/implement-tool-use"
_CACHE = "https://platform.claude.com/docs/en/build-with-claude/prompt-caching"
_ID = "[a-zA-Z0-9_-]+"
_NAME = "[a-zA-Z0-9_-]{1,64}"

JSON = Rule("json", "the body is not valid JSON in UTF-8", _ERRORS)
SIZE = Rule("size", "the body is larger than 32 MB", _ERRORS)
MAX_TOKENS = Rule("max_tokens", "max_tokens is required", _API)
MESSAGES = Rule("messages", "messages is a list of 1 to 100,000 messages", _API)
ROLE = Rule("role", "role is user or assistant; instructions stand in system", _API)
FIRST = Rule("first", "the first message is the user's", _API)
LAST = Rule(
    "last",
    "the conversation ends with a user message: newer models take no prefill",
    "https://platform.claude.com/docs/en/about-claude/models/migrating-to-claude-4",
)
CONTENT = Rule("content", "all messages have content", _API)
BLANK = Rule("blank", "text content blocks must be non-empty and contain non-whitespace text", _API)
SIDE = Rule("side", "tool_use stands in assistant messages, tool_result in user messages", _TOOLS)
CALL_ID = Rule("call_id", f"an id of tool_use matches ^{_ID}$, and no other one has it", _API)
CALL_NAME = Rule("call_name", f"a tool's name matches ^{_NAME}$", _TOOLS)
INPUT = Rule("input", "input is an object", _API)
ANSWERED = Rule("answered", "each tool_use has its tool_result in the next message", _TOOLS)
ORPHAN = Rule("orphan", "each tool_result has its tool_use in the previous message, and is its only one", _TOOLS)
FIRST_RESULTS = Rule("first_results", "tool_result blocks come first in the content", _TOOLS)
TOOLS = Rule("tools", "requests with tool_use or tool_result blocks define tools", _TOOLS)
BREAKPOINTS = Rule("breakpoints", "at most 4 blocks have cache_control, and none of them is an empty text", _CACHE)


def refusals(body: Any) -> list[Refusal]:
    """Why the API would answer 400 (413 for what is too large)."""
    if found := json_refusals(body, 32 * MIB, JSON, SIZE):
        return found
    messages = body.get("messages") if isinstance(body, Mapping) else None
    if not isinstance(messages, list) or not 1 <= len(messages) <= 100_000:
        return [Refusal(MESSAGES, "messages")]
    if not isinstance(body.get("max_tokens"), int):
        found.append(Refusal(MAX_TOKENS, "max_tokens"))
    found += [
        Refusal(ROLE, f"messages[{index}]")
        for index, message in items(messages)
        if message.get("role") not in ("user", "assistant")
    ]
    joined = _joined(messages)
    if joined[0][0] != "user":
        found.append(Refusal(FIRST, "messages[0]"))
    if joined[-1][0] != "user":
        found.append(Refusal(LAST, f"messages[{len(messages) - 1}]"))
    waiting: list[str] = []
    ids: set[str] = set()
    for role, blocks in joined:
        found += _blocks(role, blocks, ids) + _results(blocks, waiting)
        waiting = [str(block.get("id")) for _where, block in blocks if block.get("type") == "tool_use"]
    if waiting:
        found.append(Refusal(ANSWERED, f"messages: {', '.join(waiting)}"))
    return found + _declared(body, joined) + _cached(body)


_Blocks = list[tuple[str, Mapping[str, Any]]]


def _joined(messages: Sequence[Mapping[str, Any]]) -> list[tuple[Any, _Blocks]]:
    """Consecutive messages of the same role are one, as the API has it: (role, blocks with their places)."""
    joined: list[tuple[Any, _Blocks]] = []
    for index, message in items(messages):
        content = message.get("content")
        given = [{"type": "text", "text": content}] if isinstance(content, str) else content
        blocks = [(f"messages[{index}].content[{place}]", block) for place, block in items(given)]
        if not blocks:
            blocks = [(f"messages[{index}]", {"type": "nothing"})]
        if joined and joined[-1][0] == message.get("role"):
            joined[-1][1].extend(blocks)
        else:
            joined.append((message.get("role"), blocks))
    return joined


def _blocks(role: Any, blocks: _Blocks, ids: set[str]) -> list[Refusal]:
    found: list[Refusal] = []
    for where, block in blocks:
        match block.get("type"):
            case "nothing":
                found.append(Refusal(CONTENT, where))
            case "text":
                if blank(block.get("text")):
                    found.append(Refusal(BLANK, where))
            case "tool_use":
                if role != "assistant":
                    found.append(Refusal(SIDE, where))
                if not fits(_ID, block.get("id")) or block["id"] in ids:
                    found.append(Refusal(CALL_ID, where))
                ids.add(str(block.get("id")))
                if not fits(_NAME, block.get("name")):
                    found.append(Refusal(CALL_NAME, where))
                if not isinstance(block.get("input"), Mapping):
                    found.append(Refusal(INPUT, where))
            case "tool_result":
                if role != "user":
                    found.append(Refusal(SIDE, where))
                texts = [part.get("text") for _place, part in items(block.get("content")) if part.get("type") == "text"]
                if any(blank(text) for text in texts):
                    found.append(Refusal(BLANK, where))
    return found


def _results(blocks: _Blocks, waiting: list[str]) -> list[Refusal]:
    found: list[Refusal] = []
    left = list(waiting)
    first = True
    for where, block in blocks:
        if block.get("type") != "tool_result":
            first = False
            continue
        if block.get("tool_use_id") in left:
            left.remove(block["tool_use_id"])
        else:
            found.append(Refusal(ORPHAN, where))
        if not first:
            found.append(Refusal(FIRST_RESULTS, where))
    if left:
        found.append(Refusal(ANSWERED, f"{blocks[0][0]}: {', '.join(left)}"))
    return found


def _declared(body: Mapping[str, Any], joined: Sequence[tuple[Any, _Blocks]]) -> list[Refusal]:
    found = [
        Refusal(CALL_NAME, f"tools[{place}]")
        for place, tool in items(body.get("tools"))
        if not fits(_NAME, tool.get("name"))
    ]
    uses = any(block.get("type") in ("tool_use", "tool_result") for _role, blocks in joined for _where, block in blocks)
    if uses and not body.get("tools"):
        found.append(Refusal(TOOLS, "tools"))
    return found


def _cached(body: Mapping[str, Any]) -> list[Refusal]:
    marked = [block for block in blocks_of(body) if block.get("cache_control")]
    empty = any(block.get("type") == "text" and blank(block.get("text")) for block in marked)
    return [Refusal(BREAKPOINTS, "cache_control")] if len(marked) > 4 or empty else []


def blocks_of(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """All blocks in the order in which the cache has them: tools, system, messages."""
    system, found = body.get("system"), [tool for _place, tool in items(body.get("tools"))]
    if isinstance(system, str):
        found.append({"type": "text", "text": system})
    found += [block for _place, block in items(system)]
    for _index, message in items(body.get("messages")):
        content = message.get("content")
        given = [{"type": "text", "text": content}] if isinstance(content, str) else content
        found += [{"role": message.get("role"), **block} for _place, block in items(given)]
    return found


def request(
    turns: Sequence[Turn], instructions: str = "", tools: Sequence[str] = (), *, ttl: str = "5m"
) -> dict[str, Any]:
    """A body of repaired turns, with the ends of the tools, of the instructions and of the conversation marked for
    the cache, which is to keep them for `ttl` (5m or 1h)."""
    messages = [{"role": turn.role, "content": [_block(block) for block in turn.blocks]} for turn in merged(turns)]
    marked = {"cache_control": {"type": "ephemeral", "ttl": ttl}}
    if messages and messages[-1]["role"] == "user":
        messages[-1]["content"][-1].update(marked)  # type: ignore[union-attr]
    body: dict[str, Any] = {"model": "claude-sonnet-5-5", "max_tokens": 4096, "messages": messages}
    if instructions:
        body["system"] = [{"type": "text", "text": instructions, **marked}]
    if tools:
        body["tools"] = [{"name": name, "input_schema": schema()} for name in tools]
        body["tools"][-1].update(marked)
    return body


def _block(block: Any) -> dict[str, Any]:
    match block:
        case Words(text):
            return {"type": "text", "text": text}
        case Call(id, name, arguments):
            return {"type": "tool_use", "id": id, "name": name, "input": arguments}
        case Result(id, _name, content, failed):
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            return {"type": "tool_result", "tool_use_id": id, "content": text, **({"is_error": True} if failed else {})}
    raise TypeError(f"{block!r} is no block of a repaired turn.")
