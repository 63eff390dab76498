"""What a person may use in a day: messages, tokens and money, on every surface, counted without a race."""

import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection, connections

from crossmemory import budget, db, intake, log
from crossmemory.agents import NeedsApproval, Output, Request, Text, Usage
from crossmemory.budget import OverBudget
from crossmemory.checks import check_aliases
from crossmemory.events import Actor
from crossmemory.memory import Context
from crossmemory.models import Conversation, DailyUse, Message, Owner
from crossmemory.runs import engine
from tests.api.conftest import Api
from tests.support.attached import attach
from tests.support.runner import ScriptedAgent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def limit(settings: Any) -> Any:
    def set_limit(**limits: Any) -> None:
        settings.CROSSMEMORY = {**settings.CROSSMEMORY, **limits}

    return set_limit


@pytest.fixture(autouse=True)
def noon(monkeypatch: pytest.MonkeyPatch) -> datetime:
    """It is noon by the clock that days are told by, so that no test runs over midnight."""
    moment = datetime.now(UTC).replace(hour=12)
    monkeypatch.setattr(budget, "timezone", SimpleNamespace(now=lambda: moment))
    return moment


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def say(conversation: Conversation, text: str, client_id: str | None = None) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)), client_id=client_id)


def row(user: Any) -> tuple[int, int, int]:
    return DailyUse.objects.values_list("messages", "tokens", "nanodollars").get(user=user)


def test_rest_says_that_little_is_left_and_then_400_with_the_time(
    settings: Any, limit: Any, user: Any, conversation: Conversation
) -> None:
    settings.ROOT_URLCONF = "tests.api.urls"
    limit(DAILY_MESSAGES=3)
    api, path = Api(user), f"conversations/{conversation.uid}/messages/"
    tomorrow = f"{datetime.now(UTC) + timedelta(days=1):%Y-%m-%d}T00:00:00.000000Z"
    answers = [api("post", path, {"client_id": f"c{number}", "text": "hello"}) for number in range(4)]
    assert [answer.status_code for answer in answers] == [201, 201, 201, 400]
    assert [answer.json().get("budget") for answer in answers] == [
        None, None, {"messages_left": 0, "resets_at": tomorrow}, None,
    ]  # fmt: skip
    refused = answers[3].json()
    assert (refused["code"], refused["resets_at"]) == ("over_budget", tomorrow)
    assert refused["detail"]
    again = api("post", path, {"client_id": "c0", "text": "hello"})  # stored already: nothing new is asked for
    assert (again.status_code, again.json()["duplicate"]) == (200, True)
    assert Message.objects.count() == 3
    conversation.refresh_from_db()
    assert conversation.head == 5  # what was refused left no hole in the log
    assert api("post", f"conversations/{conversation.uid}/again/").json()["code"] == "over_budget"


async def test_the_socket_says_the_same(limit: Any, user: Any, conversation: Conversation) -> None:
    limit(DAILY_MESSAGES=2)
    async with attach(user, conversation) as client:
        await client.replay()
        answers = []
        for number in range(3):
            await client.send_json_to({"type": "message.send", "client_id": f"c{number}", "text": "hello"})
            while (frame := await client.frame())["type"] not in ("ack", "nack"):
                pass
            answers.append(frame)
    assert [answer["type"] for answer in answers] == ["ack", "ack", "nack"]
    assert "budget" not in answers[0]
    assert answers[1]["budget"]["messages_left"] == 0
    assert (answers[2]["code"], answers[2]["retryable"]) == ("over_budget", False)
    assert answers[2]["resets_at"] == answers[1]["budget"]["resets_at"]


def test_of_many_messages_at_once_in_many_chats_exactly_as_many_get_through(limit: Any, user: Any) -> None:
    limit(DAILY_MESSAGES=3)
    chats = [log.create(Owner.of(user), "web", f"{number}") for number in range(6)]
    together = threading.Barrier(len(chats))

    def send(chat: Conversation) -> bool:
        try:
            together.wait(10)
            say(chat, "at once")
        except OverBudget:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(len(chats)) as pool:
        sent = list(pool.map(send, chats))
    assert sum(sent) == 3
    assert row(user)[0] == Message.objects.count() == 3


def test_counting_is_one_statement_and_none_without_limits(limit: Any, user: Any, conversation: Conversation) -> None:
    owner = Owner.of(user)
    with Watched() as watched:
        assert budget.count_message(owner) is None
        budget.check(owner)
        budget.spend(owner, {"input_tokens": 5})
    assert watched.statements == []
    limit(DAILY_MESSAGES=5, DAILY_TOKENS=100, DAILY_COST=1)
    budget.count_message(owner)  # the first of a day
    with Watched() as watched:
        budget.count_message(owner)
    assert len(watched.statements) == 1


class Watched:
    """The statements that go to the database meanwhile."""

    def __enter__(self) -> "Watched":
        self.statements: list[str] = []
        self._wrapper = connection.execute_wrapper(self._note)
        self._wrapper.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._wrapper.__exit__(*error)

    def _note(self, execute: Any, sql: str, *rest: Any) -> Any:
        self.statements.append(sql)
        return execute(sql, *rest)


def paying(cost: str) -> Iterator[Output]:
    yield Usage({"input_tokens": 60, "output_tokens": 15, "cost": cost})
    yield Text("Here you are.")


async def test_what_answers_cost_is_counted_once_and_ends_the_day(
    limit: Any, user: Any, conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    limit(DAILY_COST="0.01")

    async def reply(context: Context) -> AsyncIterator[Output]:
        for output in paying("0.004"):
            yield output

    script.script = reply
    for number in range(2):
        await db.run(say, conversation, f"question {number}")
        await engine.run_waiting("w")
    assert await db.run(row, user) == (2, 150, 8_000_000)
    stored = await db.run(say, conversation, "one more")
    assert stored.used.warning() == {"messages_left": None, "resets_at": budget.timestamp(stored.used.resets_at)}
    await engine.run_waiting("w")
    with pytest.raises(OverBudget):
        await db.run(say, conversation, "too much")


async def test_an_answer_that_waits_for_permission_counts_each_of_its_parts_once(
    limit: Any, user: Any, conversation: Conversation, script: type[ScriptedAgent]
) -> None:
    limit(DAILY_TOKENS=10_000)

    async def asking(context: Context) -> AsyncIterator[Output]:
        for output in paying("0.001"):
            yield output
        if not context.decisions:
            yield NeedsApproval([Request("pay", {})])

    script.script = asking
    await db.run(say, conversation, "pay")
    await engine.run_waiting("w")
    assert await db.run(row, user) == (1, 75, 1_000_000)
    call = await db.run(conversation.tool_calls.get)
    await intake.adecide(conversation, call.uid, "approved", call.args_hash, by=Actor("user", "1"), where="web")
    await engine.run_waiting("w")
    assert await db.run(row, user) == (1, 150, 2_000_000)


def test_an_agent_has_its_own_limits_and_its_own_count(settings: Any, user: Any) -> None:
    scripted = settings.CROSSMEMORY["AGENTS"]["default"]
    agents = {"default": scripted, "dear": {**scripted, "BUDGET": {"DAILY_MESSAGES": 1}}}
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "AGENTS": agents, "DAILY_MESSAGES": 2}
    cheap, dear = (log.create(Owner.of(user, agent), "web", "") for agent in ("default", "dear"))
    say(dear, "one")
    with pytest.raises(OverBudget):
        say(dear, "two")
    say(cheap, "one")
    say(cheap, "two")
    with pytest.raises(OverBudget):
        say(cheap, "three")


@pytest.mark.parametrize("value", [0, -1, "much", True])
def test_a_limit_that_is_no_number_is_named_at_the_start(limit: Any, value: Any) -> None:
    limit(DAILY_COST=value)
    assert [each.id for each in check_aliases(None) if each.id == "crossmemory.E016"] == ["crossmemory.E016"]
