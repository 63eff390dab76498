"""What an update leads to: a message with its run, a notice, a changed link; in one transaction with "handled"."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from crossmemory import erase, inbox, intake, linking
from crossmemory.conf import settings as app
from crossmemory.events import Actor
from crossmemory.intake.worker import handle_or_retry
from crossmemory.models import Conversation, Delivery, InboundUpdate, Message, Run, SurfaceLink
from tests.intake.phone import BOT, PERSON, arrive, body, told

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_linked_persons_words_enter_the_log_with_their_run(user: Any, link: SurfaceLink) -> None:
    row = arrive("Is the ferry running?")
    (message,) = Message.objects.all()
    assert (message.text, message.author_kind, message.author_id) == ("Is the ferry running?", "user", str(user.pk))
    assert message.client_id == f"{BOT}:{row.external_id}#{row.pk}"
    assert message.sent_at is not None
    assert message.sent_at.timestamp() == 1767225637
    (run,) = Run.objects.all()
    assert (run.status, run.trigger) == ("queued", message.seq)
    assert run.destination == {
        "surface": "telegram",
        "account": BOT,
        "chat": str(PERSON),
        "topic": "",
        "reply_to": "",
    }
    assert (row.status, row.outcome, row.link, row.conversation) == ("done", "message", link, message.conversation)


def test_an_update_that_is_handled_twice_leads_to_one_message(link: SurfaceLink) -> None:
    row = arrive("once")
    assert not intake.handle(row)
    InboundUpdate.objects.filter(pk=row.pk).update(status="received")  # a crash that never happens, all the same
    assert intake.handle(row)
    assert Message.objects.count() == 1


def test_other_words_under_an_id_of_long_ago_are_another_message(link: SurfaceLink) -> None:
    raw = {"update_id": 117200040, "message": body("before")}
    for words in ("before", "now"):
        raw["message"] = body(words)
        update = inbox.Incoming("117200040", "message", json.dumps(raw).encode(), str(PERSON))
        inbox.store_all("telegram", BOT, [update], ids_return=True)
        assert handle_or_retry(InboundUpdate.objects.get(external_id="117200040"))
        InboundUpdate.objects.update(received_at=timezone.now() - timedelta(days=8))
    assert list(Message.objects.order_by("pk").values_list("text", flat=True)) == ["before", "now"]
    erase.message(Message.objects.get(text="before"), Actor("user", str(link.user_id)))
    assert b"now" in bytes(InboundUpdate.objects.latest("pk").raw)


def test_what_fails_leaves_nothing_behind_and_is_parked(link: SurfaceLink, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise ValueError("poison")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "done", broken)
        row = arrive("poison")
        assert (row.status, row.attempts) == ("received", 1)
        for _ in range(app.INBOX_MAX_ATTEMPTS - 1):
            handle_or_retry(row)
    row.refresh_from_db()
    assert row.status == "dead"
    assert "ValueError: poison" in row.error
    assert not Message.objects.exists()
    assert arrive("hello?").status == "done"
    assert Message.objects.get().text == "hello?"


def test_a_database_that_is_away_counts_against_nobody(link: SurfaceLink, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("server closed the connection")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "done", away)
        with pytest.raises(OperationalError):
            arrive("hello")
    row = InboundUpdate.objects.latest("pk")
    assert (row.status, row.attempts) == ("received", 0)


def test_media_become_a_bracketed_text_and_a_part(link: SurfaceLink) -> None:
    arrive(None, voice={"duration": 4, "file_id": "x"})
    message = Message.objects.get()
    assert message.text == "[voice 0:04]"
    assert message.parts == [{"type": "voice", "seconds": 4, "words": "voice 0:04"}]


def test_a_text_that_is_too_long_is_said_to_be(link: SurfaceLink) -> None:
    row = arrive("x" * (app.MAX_TEXT_BYTES + 1))
    assert (row.status, row.outcome) == ("done", "too_long")
    assert "too long" in told()[0]


def test_a_stranger_is_told_how_to_link_once_in_a_while_and_keeps_no_history() -> None:
    rows = [arrive("secret words") for _ in range(3)]
    assert [row.outcome for row in rows] == ["told", "unlinked", "unlinked"]
    assert len(told()) == 1
    assert "Connect Telegram" in told()[0]
    assert not Message.objects.exists()
    assert not Conversation.objects.exists()
    assert arrive("me too", sender=7345678901).outcome == "told"


def test_a_stranger_is_told_in_their_language_where_the_site_is(settings: Any) -> None:
    options = settings.CROSSMEMORY["SURFACES"]["telegram"]["OPTIONS"]
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "SURFACES": {
            **settings.CROSSMEMORY["SURFACES"],
            "telegram": {
                "BACKEND": "crossmemory.surfaces.telegram.TelegramSurface",
                "OPTIONS": {**options, "site_url": "https://example.test/chat/"},
            },
        },
    }
    arrive("/start")
    assert "https://example.test/chat/" in told()[0]


def test_strangers_who_ask_get_more_answers_but_not_for_ever() -> None:
    outcomes = [arrive("/help").outcome for _ in range(7)]
    assert outcomes == ["told"] * 5 + ["unlinked"] * 2


def test_linking_by_start(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    row = arrive(f"/START {code}", language="es")
    assert row.outcome == "link_pending"
    (pending,) = linking.accounts(user)
    assert (pending.name, pending.language, pending.status) == ("Ines", "es", "pending")
    assert arrive("am I known?").outcome == "told"  # not before it is confirmed
    linking.confirm(user, pending.uid)
    assert arrive("and now?").outcome == "message"


def test_wrong_codes_are_refused_and_counted(user: Any) -> None:
    linking.create_code(user, "telegram", "both")
    outcomes = [arrive("/start wrong").outcome for _ in range(app.LINK_GUESSES + 2)]
    assert outcomes == ["link_wrong"] * app.LINK_GUESSES + ["link_guesses"] * 2
    assert len(told()) == app.LINK_GUESSES + 1  # "too many" is said once


def test_a_group_is_never_linked_and_the_code_stays_unused(user: Any, settings: Any) -> None:
    from crossmemory.surfaces import surfaces

    surfaces["telegram"].learned("harbor_helper_bot")  # type: ignore[attr-defined]
    code, row = linking.create_code(user, "telegram", "both")
    group = {"id": -1002345678901, "type": "supergroup", "title": "Dock Crew"}
    assert arrive(f"/start@harbor_helper_bot {code}", chat=group).outcome == "told"
    assert "private chat" in told(-1002345678901)[0]
    row.refresh_from_db()
    assert row.used_at is None
    assert not SurfaceLink.objects.exists()


def test_blocking_and_coming_back(link: SurfaceLink) -> None:
    def member(status: str, update_id: int) -> None:
        raw = {
            "update_id": update_id,
            "my_chat_member": {
                "chat": {"id": PERSON, "type": "private"},
                "from": {"id": PERSON, "is_bot": False},
                "new_chat_member": {"status": status},
            },
        }
        inbox.store("telegram", BOT, str(update_id), "my_chat_member", json.dumps(raw).encode(), str(PERSON))
        intake.handle(InboundUpdate.objects.get(external_id=str(update_id)))
        link.refresh_from_db()

    from crossmemory import outbox

    outbox.write({"surface": "telegram", "account": BOT, "chat": str(PERSON)}, [{"text": "news"}])
    member("kicked", 1)
    assert link.unreachable
    assert Delivery.objects.get().status == "blocked"
    member("member", 2)
    assert link.unreachable == ""
    member("kicked", 3)
    arrive("I am back")
    link.refresh_from_db()
    assert link.unreachable == ""
    assert not Message.objects.exclude(text="I am back").exists()


def test_raw_updates_of_a_person_are_erased_with_their_conversation(user: Any, link: SurfaceLink) -> None:
    arrive("remember this")
    intake.unlink(user, link.uid, "remove")
    assert not Message.objects.exists()
    assert not any(b"remember this" in bytes(row.raw) for row in InboundUpdate.objects.all())
