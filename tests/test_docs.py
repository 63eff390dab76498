"""What the documents say is what the software does."""

import asyncio
import configparser
import inspect
import os
import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.checks import run_checks
from django.core.management import load_command_class

from crossmemory.agents.pydantic_ai import PydanticAIAgent, trouble
from crossmemory.agents.tools import policy_of
from crossmemory.conf import Settings
from crossmemory.events import TYPES
from crossmemory.management import bot_process
from crossmemory.management.commands import run_telegram_bot
from crossmemory.models import Poller
from crossmemory.surfaces import surfaces
from crossmemory.testing import providers
from crossmemory.testing.cache import PROVIDERS
from crossmemory.testing.providers.base import Rule

ROOT = Path(__file__).resolve().parent.parent


def test_every_setting_is_documented_with_its_name() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs/settings.md").read_text(), re.MULTILINE))
    assert documented == set(Settings.names())


def test_every_documented_event_exists() -> None:
    text = (ROOT / "docs/protocol.md").read_text()
    section = text.partition("## Events that the server writes today")[2].partition("##")[0]
    named = set(re.findall(r"`([a-z]+\.[a-z]+)`", section))
    assert named
    assert named <= set(TYPES)


@pytest.mark.parametrize(
    "document", [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))], ids=lambda p: p.name
)
def test_links_lead_somewhere(document: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), target


@pytest.mark.django_db
def test_the_readmes_memory_example_runs(user: Any, capsys: pytest.CaptureFixture[str]) -> None:
    example = next(block for block in blocks("python") if "record_turn" in block)
    exec(compile(example, "README.md", "exec"), {"user": user})
    assert capsys.readouterr().out.splitlines() == ["Telegram user The door code is 4471.", "Telegram assistant Noted."]


def test_the_readmes_settings_pass_the_checks(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Telegram block and both database blocks, as they stand."""
    monkeypatch.setenv("TELEGRAM_BOT_TOKEN", "7000000001:a-token")
    written: dict[str, Any] = {"os": os, "CROSSMEMORY": {}, "DATABASES": {"default": {}}}
    options = []
    for block in blocks("python"):
        if block.startswith(("CROSSMEMORY[", "DATABASES[")):
            exec(compile(block, "README.md", "exec"), written)
            options.append(written["DATABASES"]["default"].get("OPTIONS"))
    assert {"server_side_binding": True, "prepare_threshold": 5} in options
    assert options[-1]["transaction_mode"] == "IMMEDIATE"
    settings.CROSSMEMORY = written["CROSSMEMORY"]
    assert surfaces["telegram"].label == "Telegram"
    assert [problem for problem in run_checks(tags=["crossmemory"]) if problem.is_serious()] == []


def test_the_page_about_agents_runs(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings pass the checks, its tool is one, its test passes."""
    monkeypatch.setenv("OPENAI_API_KEY", "a-key")
    written: dict[str, Any] = {"CROSSMEMORY": {}, "__name__": "mysite.assistant"}
    for block in blocks("python", "docs/agents.md"):
        exec(compile(block, "agents.md", "exec"), written)
    asyncio.run(written["TestReply"]().test_it_repeats())
    request = policy_of(written["pay"]).request("pay", {"amount": 5, "to": "Ana"})
    assert (request.title, request.surfaces, request.fresh_sign_in) == ("Pay 5 € to Ana?", ["web"], 300)
    people = types.SimpleNamespace(is_colleague=lambda user: True)
    for name, module in {"mysite": people, "mysite.people": people, "mysite.assistant": written["reply"]}.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr(written["reply"], "reply", written["reply"], raising=False)
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, **written["CROSSMEMORY"]}
    assert set(settings.CROSSMEMORY["AGENTS"]) == {"default", "work", "echo"}
    assert [problem for problem in run_checks(tags=["crossmemory"]) if problem.is_serious()] == []


def test_every_option_of_a_model_is_documented() -> None:
    given = set(inspect.signature(PydanticAIAgent.__init__).parameters) - {"self", "alias"}
    section = (ROOT / "docs/agents.md").read_text().partition("| option |")[2].partition("\n\n")[0]
    rows = [line.partition("|")[2].partition("|")[0] for line in section.splitlines()[2:]]
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == given


def test_every_trouble_with_a_provider_is_documented() -> None:
    table = (ROOT / "docs/agents.md").read_text().partition("| trouble |")[2].partition("\n\n")[0]
    named = set(
        re.findall(r"`(\w+)`", " ".join(line.rpartition("|")[0].rpartition("|")[2] for line in table.splitlines()))
    )
    assert named | {"limit", "unexpected"} == trouble.CODES


def blocks(language: str, document: str = "README.md") -> list[str]:
    """The code blocks of a document in a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / document).read_text(), re.DOTALL)


def test_every_rule_of_a_provider_and_its_source_are_documented() -> None:
    text = (ROOT / "docs/providers.md").read_text()
    sections = re.findall(r'`providers\.refusals\("([a-z-]+)", body\)`\n(.*?)(?=\n## )', text, re.DOTALL)
    documented = {
        (name, rule, source)
        for name, section in sections
        for rule, source in re.findall(r"^\| `(\w+)` \|.*<(\S+)> \|$", section, re.MULTILINE)
    }
    rules = {
        (name, rule.name, rule.source)
        for name, module in providers.PROVIDERS.items()
        for rule in vars(module).values()
        if isinstance(rule, Rule)
    }
    assert documented == rules
    for name, cache in PROVIDERS.items():
        assert re.search(rf"^\| `{name}`.*\| {cache.least:,} tokens \|.*<{cache.source}> \|$", text, re.MULTILINE), name


def test_the_examples_about_providers_run() -> None:
    names: dict[str, Any] = {}
    for example in blocks("python", "docs/providers.md"):
        exec(compile(example, "providers.md", "exec"), names)
    assert names["cache"].sent


def test_the_runbook_has_every_state_and_exit_code() -> None:
    page = (ROOT / "docs/operations.md").read_text()
    runbook = page.partition("## Runbook")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", runbook, re.MULTILINE)) == {*Poller.State.values, "never"}
    codes = re.findall(r"^\| (\d) \|", page, re.MULTILINE)
    assert codes == ["0", "1", str(run_telegram_bot.MISCONFIGURED), str(bot_process.SILENT)]
    for command in re.findall(r"(?:manage\.py\"?,? |`)\"?(run_telegram_bot|crossmemory_\w+)", page):
        load_command_class("crossmemory", command)
    grace = re.search(r"--grace` seconds \((\d+)\)", page)
    assert grace
    stops = [int(number) for number in re.findall(r"(?:TimeoutStopSec=|stop_grace_period: |kill_timeout: )(\d+)", page)]
    assert stops == [30, 30, 30_000]
    assert int(grace[1]) < 30


def test_the_units_of_the_runbook_can_be_read() -> None:
    (unit,) = blocks("ini", "docs/operations.md")
    systemd = configparser.ConfigParser()
    systemd.optionxform = str  # type: ignore[assignment,method-assign]
    systemd.read_string(unit)
    assert systemd["Service"]["ExecStart"].endswith("manage.py run_telegram_bot")
    (compose,) = blocks("yaml", "docs/operations.md")
    bot = yaml.safe_load(compose)["services"]["bot"]
    assert bot["command"] == ["python", "manage.py", "run_telegram_bot"]
    assert bot["healthcheck"]["test"][-1] == "crossmemory_health"
