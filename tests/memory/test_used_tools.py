"""Tools of the own conversation are real turns, whatever became of them; elsewhere words alone count."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from crossmemory import log, memory
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Run, ToolCall
from tests.memory.places import ask, setting, texts, web

pytestmark = pytest.mark.django_db


def used(
    place: Conversation, question: str, *calls: tuple[str, str], text: str = "done", status: str = Run.Status.COMPLETED
) -> Run:
    """A turn in which tools were used: (name, status of the call)."""
    seq = ask(place, question)
    run = Run.objects.create(conversation=place, agent="default", trigger=seq, status=status)
    began = timezone.now()
    for number, (name, state) in enumerate(calls):
        ToolCall.objects.create(
            conversation=place,
            run=run,
            name=name,
            arguments={"n": number},
            status=state,
            result={"got": number} if state == "completed" else None,
            error="it broke" if state == "failed" else "",
            created_at=began + timedelta(seconds=number),
            finished_at=began + timedelta(seconds=number, milliseconds=500)
            if state in ("completed", "failed")
            else None,
            decided_at=began if state in ("denied", "expired", "cancelled") else None,
        )
    if text:
        agent = Actor("agent", "default")
        log.append_message(place, NewMessage("assistant", agent, text, turn=seq, run=run))
    return run


def shape(context: memory.Context) -> list[Any]:
    """Roles, texts, calls and results of the rendered turns."""
    return [
        (turn.role, turn.text, [call.name for call in turn.calls], [result.content for result in turn.results])
        for turn in memory.turns(context)
    ]


def test_tools_of_the_own_conversation_are_real_turns_and_elsewhere_text_only(user: Any) -> None:
    phone = memory.get_singleton(user, "telegram")
    used(phone, "weather?", ("wx", "completed"), ("wind", "failed"), text="Rain.")
    here = memory.build_context(phone, trigger=ask(phone, "and tomorrow?"))
    assert shape(here) == [
        ("user", "weather?", [], []),
        ("assistant", "", ["wx"], []),
        ("user", "", [], [{"got": 0}]),
        ("assistant", "", ["wind"], []),
        ("user", "", [], ["it broke"]),
        ("assistant", "Rain.", [], []),
        ("user", "and tomorrow?", [], []),
    ]
    chat = web(user)
    there = memory.build_context(chat, trigger=ask(chat, "hello"))
    assert [(turn.calls, turn.results) for turn in memory.turns(there)] == [([], [])]
    assert "Rain." in memory.turns(there)[0].text


def test_calls_that_were_made_at_once_stand_in_one_turn(user: Any) -> None:
    chat = web(user)
    used(chat, "weather?", ("wx", "completed"), ("wind", "completed"), text="Rain.")
    ToolCall.objects.update(finished_at=timezone.now() + timedelta(seconds=30))
    context = memory.build_context(chat, trigger=ask(chat, "thanks"))
    assert [names for _role, _text, names, _results in shape(context)] == [[], ["wx", "wind"], [], [], []]


@pytest.mark.parametrize("status", [Run.Status.ABANDONED, Run.Status.FAILED, Run.Status.STOPPED])
def test_a_call_whose_end_nobody_knows_says_so_and_is_not_done_again_blindly(user: Any, status: str) -> None:
    chat = web(user)
    run = used(chat, "cancel booking 9", ("cancel", "called"), text="", status=status)
    expected = [("assistant", "", ["cancel"], []), ("user", "", [], [memory.repair.INTERRUPTED])]
    again = memory.build_context(chat, trigger=run.trigger)
    assert shape(again)[1:] == expected
    after = memory.build_context(chat, trigger=ask(chat, "did it work?"))
    assert shape(after) == [
        ("user", "cancel booking 9", [], []),
        expected[0],
        ("user", "did it work?", [], [memory.repair.INTERRUPTED]),
    ]


def test_what_the_person_did_not_allow_is_known(user: Any) -> None:
    chat = web(user)
    used(chat, "pay", ("pay", "denied"), text="I did not pay.")
    context = memory.build_context(chat, trigger=ask(chat, "did you pay?"))
    assert "did not allow" in shape(context)[2][3][0]


def test_tools_of_a_run_that_goes_on_and_of_an_answer_that_is_given_anew_are_not_shown(user: Any) -> None:
    chat = web(user)
    going = used(chat, "add", ("add", "completed"), text="", status=Run.Status.RUNNING)
    assert shape(memory.build_context(chat, trigger=going.trigger, resumed=True)) == [("user", "add", [], [])]
    Run.objects.update(status=Run.Status.COMPLETED)
    assert shape(memory.build_context(chat, trigger=going.trigger)) == [("user", "add", [], [])]


def test_a_long_result_is_shortened_and_counts(user: Any, settings: Any) -> None:
    chat = web(user)
    used(chat, "read it", ("read", "completed"))
    ToolCall.objects.update(result={"text": "x" * 100_000})
    context = memory.build_context(chat, trigger=ask(chat, "thanks"))
    [result] = [result for turn in memory.turns(context) for result in turn.results]
    assert len(result.content) < 5000
    assert "shortened" in result.content
    setting(settings, TOKEN_BUDGET=900)
    assert texts(memory.build_context(chat, trigger=ask(chat, "and now?")).messages) == ["thanks", "and now?"]


def test_a_cut_leaves_no_tool_without_its_turn(user: Any, settings: Any) -> None:
    chat = web(user)
    for number in range(6):
        used(chat, f"weather {number}?", ("wx", "completed"), text="Rain.")
    for most in range(1, 14):
        setting(settings, THREAD_MAX_MESSAGES=most)
        context = memory.build_context(chat, trigger=ask(chat, f"thanks {most}"))
        shown = {message.turn for message in context.messages if message.role == "assistant"}
        calls = [call for turn in memory.turns(context) for call in turn.calls]
        assert len(calls) == len(shown)
