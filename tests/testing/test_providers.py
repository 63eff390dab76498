"""The rule models: what each provider is known to refuse is refused, by the rule that says so, and nothing else is."""

import copy
import re
from collections.abc import Callable
from typing import Any

import pytest

from crossmemory.memory import Call, Result, Turn
from crossmemory.testing import providers
from crossmemory.testing.providers import anthropic, gemini, openai_chat, openai_responses
from crossmemory.testing.providers.base import Rule

TURNS = [
    Turn.of("user", "weather?"),
    Turn.of("assistant", "Let me see.", Call("c1", "wx", {"a": 1}), Call("c2", "wx", {})),
    Turn.of("user", Result("c1", "wx", "rain"), Result("c2", "wx", {"wind": 7}, failed=True)),
    Turn.of("assistant", "Rain."),
    Turn.of("user", "and tomorrow?"),
]
Change = Callable[[dict[str, Any]], Any]


def at(*path: Any, value: Any = None, remove: bool = False) -> Change:
    """Sets or removes what stands at a path of a body."""

    def change(body: dict[str, Any]) -> None:
        here: Any = body
        for key in path[:-1]:
            here = here[key]
        if remove:
            del here[path[-1]]
        else:
            here[path[-1]] = value

    return change


def put(*path: Any, item: Any) -> Change:
    """Inserts into the list at a path."""

    def change(body: dict[str, Any]) -> None:
        here: Any = body
        for key in path[:-1]:
            here = here[key]
        here.insert(path[-1], item)

    return change


def cut(name: str, start: int, end: int | None) -> Change:
    return lambda body: body.__setitem__(name, body[name][start:end])


def marked(body: dict[str, Any]) -> None:
    """Two more blocks for the cache than Anthropic allows."""
    for message in body["messages"]:
        message["content"][0]["cache_control"] = {"type": "ephemeral"}


#: developer, user, assistant with two calls, tool, tool, assistant, user
CHAT: list[tuple[str, Change]] = [
    ("json", at("messages", 1, "content", value="half \ud83d")),
    ("json", at("messages", 1, "content", value=float("nan"))),
    ("size", at("messages", 1, "content", value="x" * 53_000_000)),
    ("messages", at("messages", value=[])),
    ("messages", at("messages", remove=True)),
    ("role", at("messages", 1, "role", value="person")),
    ("content", at("messages", 5, "content", value=None)),
    ("content", at("messages", 3, "content", value=None)),
    ("content", at("messages", 2, "tool_calls", value=[])),
    ("blank", at("messages", 6, "content", value=" ")),
    ("blank", at("messages", 6, "content", value=[{"type": "text", "text": ""}])),
    ("name", at("messages", 1, "name", value="Мира")),
    ("name", at("messages", 1, "name", value="x" * 65)),
    ("call_id", at("messages", 2, "tool_calls", 1, "id", value="c1")),
    ("call_id", at("messages", 2, "tool_calls", 1, "id", value="c" * 41)),
    ("call_name", at("messages", 2, "tool_calls", 1, "function", "name", value="a.b")),
    ("arguments", at("messages", 2, "tool_calls", 1, "function", "arguments", value="[1]")),
    ("arguments", at("messages", 2, "tool_calls", 1, "function", "arguments", value="{")),
    ("answered", at("messages", 4, remove=True)),
    ("answered", cut("messages", 0, 3)),
    ("answered", put("messages", 3, item={"role": "user", "content": "hurry"})),
    ("orphan", cut("messages", 3, None)),
    ("orphan", put("messages", 1, item={"role": "tool", "tool_call_id": "c1", "content": "rain"})),
    ("tools", at("tools", value=[])),
    ("last", cut("messages", 0, 6)),
]
#: user, assistant, call, call, output, output, assistant, user
RESPONSES: list[tuple[str, Change]] = [
    ("json", at("input", 0, "content", value="half \ud83d")),
    ("size", at("input", 0, "content", value="x" * 53_000_000)),
    ("input", at("input", value=[])),
    ("input", at("input", value="  ")),
    ("type", at("input", 2, "type", value="tool_use")),
    ("role", at("input", 0, "role", value="tool")),
    ("content", at("input", 0, "content", value=[])),
    ("content", at("input", 0, "content", 0, "text", value="")),
    ("part", at("input", 0, "content", 0, "type", value="output_text")),
    ("part", at("input", 1, "content", 0, "type", value="input_text")),
    ("call_id", at("input", 3, "call_id", value="c1")),
    ("call_name", at("input", 3, "name", value="a b")),
    ("arguments", at("input", 3, "arguments", value="no")),
    ("answered", at("input", 5, remove=True)),
    ("orphan", at("input", 2, remove=True)),
    ("orphan", put("input", 0, item={"type": "function_call_output", "call_id": "c1", "output": "early"})),
    ("tools", at("tools", value=[])),
]
#: user, assistant (text, call, call), user (result, result), assistant, user
ANTHROPIC: list[tuple[str, Change]] = [
    ("json", at("messages", 0, "content", 0, "text", value="half \ud83d")),
    ("size", at("messages", 0, "content", 0, "text", value="x" * 34_000_000)),
    ("max_tokens", at("max_tokens", remove=True)),
    ("messages", at("messages", value=[])),
    ("role", at("messages", 0, "role", value="system")),
    ("first", cut("messages", 3, None)),
    ("last", cut("messages", 0, 4)),
    ("content", at("messages", 3, "content", value=[])),
    ("blank", at("messages", 0, "content", 0, "text", value=" \n")),
    ("blank", at("messages", 0, "content", value="")),
    ("blank", at("messages", 2, "content", 0, "content", value=[{"type": "text", "text": ""}])),
    ("side", at("messages", 0, "content", 0, value={"type": "tool_use", "id": "x", "name": "wx", "input": {}})),
    ("call_id", at("messages", 1, "content", 2, "id", value="ünï")),
    ("call_id", at("messages", 1, "content", 2, "id", value="c1")),
    ("call_name", at("messages", 1, "content", 2, "name", value="a.b")),
    ("input", at("messages", 1, "content", 2, "input", value=[1])),
    ("answered", at("messages", 2, "content", 1, remove=True)),
    ("answered", cut("messages", 0, 2)),
    ("orphan", cut("messages", 2, None)),
    ("orphan", put("messages", 2, "content", 2, item={"type": "tool_result", "tool_use_id": "c1", "content": ""})),
    ("first_results", put("messages", 2, "content", 0, item={"type": "text", "text": "hm"})),
    ("tools", at("tools", remove=True)),
    ("breakpoints", marked),
]
#: user, model (text, call, call), user (response, response), model, user
GEMINI: list[tuple[str, Change]] = [
    ("json", at("contents", 0, "parts", 0, "text", value="half \ud83d")),
    ("size", at("contents", 0, "parts", 0, "text", value="x" * 22_000_000)),
    ("contents", at("contents", value=[])),
    ("role", at("contents", 0, "role", value="assistant")),
    ("parts", at("contents", 3, "parts", value=[])),
    ("part", at("contents", 0, "parts", 0, value={})),
    ("part", at("contents", 0, "parts", 0, "text", value="")),
    ("first", cut("contents", 3, None)),
    ("last", cut("contents", 0, 4)),
    ("after", put("contents", 1, item={"role": "model", "parts": [{"text": "hm"}]})),
    ("count", at("contents", 2, "parts", 1, remove=True)),
    ("count", cut("contents", 0, 2)),
    ("names", at("contents", 2, "parts", 1, "functionResponse", "name", value="other")),
    ("orphan", cut("contents", 2, None)),
    ("side", at("contents", 0, "parts", 0, value={"functionCall": {"name": "wx", "args": {}}})),
    ("call_name", at("contents", 1, "parts", 1, "functionCall", "name", value="3d")),
    ("struct", at("contents", 1, "parts", 1, "functionCall", "args", value=[1])),
    ("struct", at("contents", 2, "parts", 0, "functionResponse", "response", value="rain")),
]
CASES = {"openai": CHAT, "openai-responses": RESPONSES, "anthropic": ANTHROPIC, "gemini": GEMINI}


@pytest.mark.parametrize("provider", CASES)
def test_a_good_request_is_taken(provider: str) -> None:
    assert providers.refusals(provider, providers.request(provider, TURNS, "Be kind.", ["other"])) == []
    assert providers.refusals(provider, providers.request(provider, [Turn.of("user", "hi")])) == []


@pytest.mark.parametrize(
    ("provider", "rule", "change"),
    [(provider, rule, change) for provider, cases in CASES.items() for rule, change in cases],
)
def test_what_is_known_to_be_refused_is_refused_by_its_rule(provider: str, rule: str, change: Change) -> None:
    body = copy.deepcopy(providers.request(provider, TURNS, "Be kind."))
    change(body)
    assert rule in {refusal.rule.name for refusal in providers.refusals(provider, body)}


@pytest.mark.parametrize(
    ("provider", "module"),
    [
        ("openai", openai_chat),
        ("openai-responses", openai_responses),
        ("anthropic", anthropic),
        ("gemini", gemini),
    ],
)
def test_every_rule_has_a_source_and_a_case(provider: str, module: Any) -> None:
    rules = {value.name: value for value in vars(module).values() if isinstance(value, Rule)}
    assert set(rules) == {rule for rule, _change in CASES[provider]}
    assert all(re.match(r"https://\S+$", rule.source) for rule in rules.values())
