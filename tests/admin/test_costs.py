"""What a reply took, and what the assistant would see now."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from crossmemory import memory
from crossmemory.models import Conversation, Message, Run, SurfaceLink
from crossmemory.testing.factories import AnsweredRunFactory, ConversationFactory, SurfaceLinkFactory, UserFactory
from tests.admin.conftest import permissions, signed_in
from tests.admin.world import WORD, make, page

pytestmark = pytest.mark.django_db

USAGE = {
    "model": "openai:a-model",
    "requests": 2,
    "input_tokens": 12000,
    "output_tokens": 80,
    "cache_read_tokens": 9000,
    "cost": "0.0123",
    "first_text_seconds": 0.75,
    "steps": [
        {"input_tokens": 5900, "output_tokens": 30, "cache_read_tokens": 3000, "tools": ["ring_bell"]},
        {"input_tokens": 6100, "output_tokens": 50, "cache_read_tokens": 6000, "tools": []},
    ],
}
NOTES = [{"code": "waited", "for": "overloaded", "seconds": 2.5}, {"code": "new", "about": "what no page knows"}]


def shown(client: Client, run: Run) -> str:
    return client.get(page(Run, "change", run.pk)).content.decode()


def test_a_reply_says_what_it_took(boss: Client) -> None:
    run = AnsweredRunFactory(conversation=ConversationFactory())
    Run.objects.filter(pk=run.pk).update(usage=USAGE, manifest={**(run.manifest or {}), "notes": NOTES})
    text = shown(boss, run)
    for said in ("openai:a-model", "12,000", "75 %", "$ 0.012300", "0.75 s", "6100", "ring_bell", "Waited 2.5 s"):
        assert said in text
    assert "about: what no page knows" in text


def test_tools_are_named_and_lead_to_their_pages(boss: Client) -> None:
    make(UserFactory())
    run = Run.objects.filter(tool_calls__isnull=False).get()
    call = run.tool_calls.get()
    assert page(type(call), "change", call.pk) in shown(boss, run)


@pytest.mark.parametrize(
    "usage", [None, {}, {"input_tokens": "many", "cost": "free"}, {"steps": "none"}, [1], {"input_tokens": 0}]
)
def test_what_an_agent_does_not_tell_breaks_no_page(boss: Client, usage: Any) -> None:
    run = AnsweredRunFactory(conversation=ConversationFactory())
    Run.objects.filter(pk=run.pk).update(usage=usage)
    assert shown(boss, run)


def ask(client: Client, **query: Any) -> Any:
    return client.get(reverse("admin:crossmemory_conversation_would_see"), query)


def test_it_would_see_what_a_run_would_see(boss: Client) -> None:
    user = UserFactory()
    conversation = make(user)[Conversation]
    answer = ask(boss, user=user.get_username(), surface="web", conversation=conversation.pk)
    given = memory.build_context(Conversation.objects.get(pk=conversation.pk))
    assert [row.id for row in answer.context["saw"].used] == [message.id for message in given.messages]
    assert len(answer.context["saw"].left_out) == len(given.manifest.left_out)
    assert f"My {WORD} again" in answer.content.decode()


def test_it_can_be_asked_about_a_surface_nobody_used_yet_and_makes_no_rows(boss: Client) -> None:
    user = UserFactory()
    shared = ConversationFactory(user=user)
    AnsweredRunFactory(conversation=shared, question="The code is 4471.", answer="Noted.")
    before = Conversation.objects.count()
    assert "4471" in ask(boss, user=user.get_username(), surface="telegram").content.decode()
    assert Conversation.objects.count() == before
    SurfaceLinkFactory(user=user, status=SurfaceLink.Status.ACTIVE, sharing="separate")
    assert "4471" not in ask(boss, user=user.get_username(), surface="telegram").content.decode()


def test_a_conversation_leads_there(boss: Client) -> None:
    conversation = make(UserFactory())[Conversation]
    found = boss.get(page(Conversation, "change", conversation.pk)).context["would_see"]
    answer = boss.get(f"{reverse('admin:crossmemory_conversation_would_see')}?{found}")
    assert answer.context["saw"].used


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"user": "nobody", "surface": "web"},
        {"user": "ana", "surface": "nowhere"},
        {"user": "ana", "surface": "web", "agent": "nobody"},
        {"user": "ana", "surface": "web", "conversation": "x"},
    ],
)
def test_a_wrong_question_is_told_apart(boss: Client, user: Any, query: dict[str, str]) -> None:
    answer = ask(boss, **query)
    assert answer.status_code == 200
    assert "saw" not in answer.context


def test_one_persons_name_does_not_open_anothers_conversation(boss: Client, user: Any) -> None:
    theirs = make(UserFactory())[Conversation]
    answer = ask(boss, user="ana", surface="web", conversation=theirs.pk)
    assert "saw" not in answer.context
    assert WORD not in answer.content.decode()


def test_it_needs_both_permissions(helper: Any) -> None:
    user = UserFactory()
    conversation = make(user)[Conversation]
    asked = {"user": user.get_username(), "surface": "web", "conversation": conversation.pk}
    assert ask(signed_in(helper), **asked).status_code == 403
    assert "would-see" not in signed_in(helper).get(page(Conversation, "change", conversation.pk)).content.decode()
    helper.user_permissions.add(*permissions("read_text"))
    assert ask(signed_in(helper), **asked).status_code == 200
    helper.user_permissions.remove(*Permission.objects.filter(codename="view_conversation"))
    assert ask(signed_in(helper), **asked).status_code == 403
    assert Message.objects.exists()
