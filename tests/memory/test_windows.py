"""How much is kept: windows that move in steps, budgets, placements, and where all that is set."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from crossmemory import log, memory, turns
from crossmemory.events import Actor
from crossmemory.log import NewMessage, QueueRun
from crossmemory.memory import window
from crossmemory.memory.limits import limits
from crossmemory.models import Conversation, Message, Run
from tests.memory.places import answer, ask, build, reasons, setting, texts, web

pytestmark = pytest.mark.django_db


def starts(contexts: list[memory.Context], own: bool) -> list[str]:
    firsts = [next((m.text for m in context.messages if m.own == own), "") for context in contexts]
    return list(dict.fromkeys(firsts))


def test_the_start_of_the_windows_moves_in_steps(user: Any, settings: Any) -> None:
    setting(settings, THREAD_MAX_MESSAGES=6, RECENT_MAX_MESSAGES=4, MAX_MESSAGES=8)
    chat, phone = web(user), memory.get_singleton(user, "telegram")
    on_web, on_phone = [], []
    for number in range(30):
        for place, contexts in ((chat, on_web), (phone, on_phone)):
            contexts.append(build(place, f"{place.surface} {number}"))
            answer(place, contexts[-1].messages[-1].turn, f"re {place.surface} {number}")
    for contexts, most, own in ((on_web, 12, True), (on_web, 8, False), (on_phone, 16, False)):
        kept = [len([m for m in c.messages if m.own == own or contexts is on_phone]) for c in contexts[10:]]
        assert most // 2 - 1 <= min(kept)
        assert max(kept) <= most
        assert len(starts(contexts, own)) <= 30 * 4 // (most // 2) + 2
    assert len(starts(on_web, True)) < 15


def test_a_context_begins_as_the_one_before_it_but_for_the_steps(user: Any, settings: Any) -> None:
    setting(settings, THREAD_MAX_MESSAGES=10)
    chat = web(user)
    grown = 0
    before: list[memory.Turn] = []
    for number in range(40):
        context = build(chat, f"question {number}")
        now = memory.turns(context)
        grown += now[: len(before)] == before
        before = now
        answer(chat, context.messages[-1].turn, f"answer {number}")
    assert grown >= 34


def test_the_edge_of_the_time_window_moves_by_the_hour_and_counts() -> None:
    noon = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    assert window.edge(noon, 24) == noon - timedelta(hours=24)
    edges = {window.edge(noon + timedelta(minutes=minutes), 24) for minutes in range(60)}
    assert edges == {noon - timedelta(hours=24)}
    assert window.edge(noon, 0) == noon
    assert timedelta(hours=2) <= noon - window.edge(noon, 2) <= timedelta(hours=2, minutes=5)


def test_a_budget_fills_and_is_cut_to_half_of_it_in_whole_turns(user: Any, settings: Any) -> None:
    setting(settings, TOKEN_BUDGET=1000, TOKEN_COUNTER=f"{__name__}.by_character")
    chat = web(user)
    contexts = []
    for number in range(30):
        contexts.append(build(chat, f"question {number}".ljust(50)))
        assert sum(len(message.text) for message in contexts[-1].messages) <= 1000
        assert contexts[-1].messages[0].role == "user"
        answer(chat, contexts[-1].messages[-1].turn, f"answer {number}".ljust(50))
    assert len(starts(contexts, True)) <= 7
    assert set(reasons(contexts[-1]).values()) == {"tokens"}


def by_character(text: str) -> int:
    return len(text)


def test_a_question_is_answered_whatever_it_costs(user: Any, settings: Any) -> None:
    setting(settings, TOKEN_BUDGET=10)
    chat = web(user)
    answer(chat, ask(chat, "before"), "re before")
    assert texts(build(chat, "x" * 5000).messages) == ["x" * 5000]


def test_a_surface_counts_before_an_agent_and_that_before_the_site(user: Any, settings: Any) -> None:
    agents = {**settings.CROSSMEMORY["AGENTS"]}
    agents["default"] = {**agents["default"], "MEMORY": {"MAX_MESSAGES": 5, "HOURS_BACK": 48, "PLACEMENT": "late"}}
    surfaces = {**settings.CROSSMEMORY["SURFACES"]}
    surfaces["telegram"] = {**surfaces["telegram"], "MEMORY": {"MAX_MESSAGES": 3, "TOKEN_BUDGET": None}}
    setting(settings, AGENTS=agents, SURFACES=surfaces, MAX_MESSAGES=7)
    assert limits().max_messages == 7
    assert (limits("default").max_messages, limits("default").hours_back) == (5, 48)
    here = limits("default", "telegram")
    assert (here.max_messages, here.hours_back, here.token_budget, here.placement) == (3, 48, None, "late")
    assert limits("default", "web").token_budget == 24_000
    for number in range(9):
        memory.record(user, "telegram", "user", f"m{number}")
    assert len(memory.load_cross_context(user)) == 5
    context = memory.build_context(memory.get_singleton(user, "telegram"))
    assert texts(context.messages) == ["m6", "m7", "m8"]
    assert (context.manifest.placement, context.manifest.hours_back) == ("late", 48)
    call_command("check")


@pytest.mark.parametrize(
    "said", [{"MAX_MESSAGE": 3}, {"PLACEMENT": "early"}, {"TOKEN_COUNTER": "nowhere.count"}, {"AGENTS": {}}]
)
@pytest.mark.parametrize("name", ["AGENTS", "SURFACES"])
def test_a_wrong_word_about_memory_is_named_at_the_start(settings: Any, name: str, said: Any) -> None:
    entries = {**settings.CROSSMEMORY[name]}
    alias = next(iter(entries))
    entries[alias] = {**entries[alias], "MEMORY": said}
    setting(settings, **{name: entries})
    with pytest.raises(SystemCheckError, match="E015"):
        call_command("check")


@pytest.mark.parametrize("placement", ["merged", "prepended", "late"])
def test_the_newest_correction_and_the_question_stand_where_the_placement_says(user: Any, placement: str) -> None:
    chat = web(user)
    answer(chat, ask(chat, "The ferry leaves at 07:35."), "Noted.")
    memory.record_turn(user, "telegram", "No: at 09:10.", "Corrected.")
    context = memory.build_context(chat, trigger=ask(chat, "When?"), placement=placement)
    order = {
        "merged": ["The ferry leaves at 07:35.", "Noted.", "No: at 09:10.", "Corrected.", "When?"],
        "prepended": ["No: at 09:10.", "Corrected.", "The ferry leaves at 07:35.", "Noted.", "When?"],
        "late": ["The ferry leaves at 07:35.", "Noted.", "No: at 09:10.", "Corrected.", "When?"],
    }
    assert texts(context.messages) == order[placement]
    assert [message.text for message in context.asked] == ["When?"]


@pytest.mark.django_db(transaction=True)
async def test_a_run_records_where_its_windows_begin(script: Any, user: Any) -> None:
    from crossmemory import db
    from crossmemory.runs import engine

    def prepare() -> Conversation:
        memory.record(user, "telegram", "user", "on the phone")
        chat = web(user)
        log.append_message(chat, NewMessage("user", Actor("user", str(user.pk)), "hello"), QueueRun("default"))
        return chat

    chat = await db.run(prepare)
    await engine.run_waiting("w")
    run = await db.run(lambda: Run.objects.get(conversation=chat))
    first = await db.run(lambda: dict(Message.objects.values_list("text", "pk")))
    assert (run.window_start, run.recent_start) == (first["hello"], first["on the phone"])
    assert run.status == turns.Status.COMPLETED


def test_what_was_out_of_reach_before_is_seen_where_there_is_room(user: Any, settings: Any) -> None:
    """A window that holds less than it may does not stay closed to what is older and counts only now."""
    secret, phone = web(user, shared=False), memory.get_singleton(user, "telegram")
    ask(secret, "The present is a kite.")
    assert texts(build(phone, "one").messages) == ["one"]
    log.set_shared(secret, True)
    assert texts(build(phone, "two").messages) == ["The present is a kite.", "one", "two"]
    log.set_shared(secret, False)
    assert texts(build(phone, "three").messages) == ["one", "two", "three"]
    setting(settings, MAX_MESSAGES=3)
    log.set_shared(secret, True)
    assert texts(build(phone, "four").messages) == ["one", "two", "three", "four"]
