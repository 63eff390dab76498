"""A conversation reads like a chat, and a reply shows what the assistant saw."""

import re
from typing import Any

import pytest
from django.test import Client

from crossmemory import erase, log, turns
from crossmemory.admin import chat
from crossmemory.admin.saw import REASONS
from crossmemory.events import SYSTEM
from crossmemory.memory.types import Reason
from crossmemory.models import Conversation, Message, Run
from crossmemory.testing.factories import (
    AnsweredRunFactory,
    ConversationFactory,
    DeliveryFactory,
    MessageFactory,
    RunFactory,
    UserFactory,
)
from tests.admin.world import make, nothing, page

pytestmark = pytest.mark.django_db

BAD = "<script>alert(1)</script><img src=x onerror=alert(2)>"


def read(client: Client, conversation: Conversation, **query: Any) -> str:
    response = client.get(page(Conversation, "change", conversation.pk), query)
    assert response.status_code == 200
    return response.content.decode()


def test_messages_and_what_happened_stand_in_order(boss: Client) -> None:
    conversation = make(UserFactory(username="ana"))[Conversation]
    body = read(boss, conversation)
    said = [
        "Where is my",
        "is <strong>here</strong>",
        "And the other",
        "The other xylophone",
        "started afresh",
        "again",
    ]
    assert sorted(body.index(words) for words in said) == [body.index(words) for words in said]
    assert "being written" in body
    assert "What the assistant saw" in body
    assert "Telegram: failed" in body


def test_what_people_write_is_text(boss: Client) -> None:
    conversation = ConversationFactory(title=BAD)
    for role in ("user", "assistant", "system"):
        MessageFactory(conversation=conversation, role=role, text=f"{BAD} [link](javascript:alert(3))")
    run = RunFactory(conversation=conversation, question=BAD)
    claimed = turns.claim(run.pk, "test", nothing)
    assert claimed is not None
    manifest = {"used": [{"id": message.pk} for message in Message.objects.all()]}
    manifest["left_out"] = [{"id": Message.objects.first().pk, "reason": BAD}]  # type: ignore[union-attr]
    manifest["placement"] = BAD  # type: ignore[assignment]
    turns.note_context(claimed, manifest, None, error=BAD)
    DeliveryFactory(message=Message.objects.filter(role="assistant").get(), status="failed", error=BAD)
    Run.objects.update(usage={"note": BAD}, worker=BAD)
    urls = [
        page(Conversation, "change", conversation.pk),
        page(Conversation, "changelist"),
        page(Conversation, "delete", conversation.pk),
        page(Message, "changelist"),
        page(Run, "change", run.pk),
        *(page(Message, "change", message.pk) for message in Message.objects.all()),
    ]
    for url in urls:
        body = boss.get(url).content.decode()
        assert "alert(" in body
        assert "<script>alert" not in body
        assert "<img src=x" not in body
        assert 'href="javascript:' not in body


def test_a_long_conversation_is_read_page_by_page(boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "PAGE", 10)
    conversation = ConversationFactory()
    for number in range(25):
        MessageFactory(conversation=conversation, text=f"line {number};")
    seen: list[str] = []
    query: dict[str, Any] = {}
    for _ in range(3):
        body = read(boss, conversation, **query)
        seen = re.findall(r"line \d+;", body) + seen
        before = re.search(r"before=(\d+)", body)
        query = {"before": before.group(1)} if before else {}
    assert seen == [f"line {number};" for number in range(25)]
    assert not query


@pytest.mark.parametrize("before", ["x", "-1", "9" * 30, "²", ""])
def test_a_made_up_page_is_the_newest(before: str, boss: Client) -> None:
    message = MessageFactory(text="hello there")
    assert "hello there" in read(boss, message.conversation, before=before)


def test_all_places_of_a_person_are_merged_by_key(boss: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat, "PAGE", 4)
    ana = UserFactory()
    web, phone = ConversationFactory(user=ana), ConversationFactory(user=ana, surface="telegram", singleton=True)
    secret = ConversationFactory(user=ana, shared=False)
    others = [
        ConversationFactory(),
        ConversationFactory(user=ana, tenant="other"),
        ConversationFactory(user=ana, agent="other"),
    ]
    for number in range(6):
        MessageFactory(conversation=(web, phone, secret)[number % 3], text=f"line {number};")
        MessageFactory(conversation=others[number % 3], text=f"foreign {number};")
    body = read(boss, phone, places="all")
    assert re.findall(r"line \d;", body) == ["line 2;", "line 3;", "line 4;", "line 5;"]
    before = re.search(r"before=(\d+)", body)
    assert before is not None
    earlier = read(boss, phone, places="all", before=before.group(1))
    assert re.findall(r"line \d;", earlier) == ["line 0;", "line 1;"]
    assert "foreign" not in body + earlier
    assert re.findall(r"line \d;", read(boss, phone)) == ["line 1;", "line 4;"]


def test_a_reply_shows_what_the_assistant_saw_and_why_not(boss: Client) -> None:
    ana = UserFactory()
    web, phone = ConversationFactory(user=ana), ConversationFactory(user=ana, surface="telegram", singleton=True)
    secret = ConversationFactory(user=ana, shared=False)
    MessageFactory(conversation=web, text="The train leaves at nine.")
    MessageFactory(conversation=secret, text="A telescope for Leo.")
    gone = MessageFactory(conversation=web, text="Forget this.")
    run = AnsweredRunFactory(conversation=phone, question="When?", answer="At nine.")
    erase.message(gone, SYSTEM)
    body = boss.get(page(Run, "change", run.pk)).content.decode()
    order = [body.index(words) for words in ("The train leaves at nine.", "When?", "left out", "A telescope for Leo.")]
    assert order == sorted(order)
    assert "Kept out of memory by the person." in body
    assert "order of time" in body
    assert "Forget this." not in body


def test_a_manifest_is_no_reason_to_show_somebody_elses_words(boss: Client) -> None:
    foreign = MessageFactory(text="Not yours.")
    run = turns.claim(RunFactory().pk, "test", nothing)
    assert run is not None
    turns.note_context(run, {"used": [{"id": foreign.pk, "surface": "web"}], "left_out": []}, None)
    body = boss.get(page(Run, "change", run.pk)).content.decode()
    assert "Not yours." not in body
    assert "no longer there" in body


def test_every_reason_has_plain_words() -> None:
    assert set(REASONS) == set(Reason.__args__)


def test_a_run_without_manifest_opens(boss: Client) -> None:
    run = RunFactory()
    assert "Nothing is recorded" in boss.get(page(Run, "change", run.pk)).content.decode()


def test_a_renamed_conversation_says_so(boss: Client) -> None:
    conversation = ConversationFactory()
    log.rename(conversation, "Better", SYSTEM)
    assert "was renamed" in read(boss, conversation)
