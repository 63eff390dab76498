"""Commands do exactly what they say, ask before they delete or forget, and say what stays on the phone."""

import asyncio
from typing import Any

import pytest
from django.utils import translation

from crossmemory import db, intake, linking, log, memory
from crossmemory.events import Actor
from crossmemory.intake import asking
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Delivery, Event, InboundUpdate, Message, Owner, Run, SurfaceLink
from crossmemory.runs import engine
from crossmemory.surfaces.telegram import TelegramSurface
from tests.intake.phone import PERSON, arrive, body, buttons, handled, press, store, told, work

pytestmark = pytest.mark.django_db(transaction=True)


def said(conversation: Conversation, text: str, role: Any = "user", turn: int | None = None) -> Message:
    author = Actor("user", str(conversation.user_id)) if role == "user" else Actor("agent", "default")
    stored = log.append_message(conversation, NewMessage(role, author, text, turn=turn))
    return Message.objects.get(pk=stored.id)


@pytest.fixture
def phone(link: SurfaceLink) -> Conversation:
    return linking.conversation_of(link)


@pytest.fixture
def web(user: Any) -> Conversation:
    return log.create(Owner(user.pk), "web", "A chat")


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/start", "Hello, Ines"),
        ("/empezar", "Hello, Ines"),
        ("/help", "/unlink"),
        ("/ayuda", "/unlink"),
        ("/whatever", "/unlink"),
        ("/link", "connected"),
        ("/stop", "nothing to stop"),
        ("/language", "/language es"),
    ],
)
def test_commands_of_a_linked_person(link: SurfaceLink, command: str, expected: str) -> None:
    row = arrive(command)
    assert row.status == "done"
    assert expected in told()[-1]
    assert not Message.objects.exists()


def test_stop(link: SurfaceLink) -> None:
    arrive("hello")
    arrive("/stop")
    assert Run.objects.get().status == "stopped"


def test_a_language_is_chosen(link: SurfaceLink) -> None:
    arrive("/language es")
    link.refresh_from_db()
    assert link.language == "es"
    arrive("/idioma EN")
    link.refresh_from_db()
    assert link.language == "en"


def test_menus_have_the_commands_in_each_language() -> None:
    menus = intake.menus()
    assert set(menus) == {"", "es"}
    assert len(menus[""]) == len(menus["es"])
    assert {"new", "forget", "unlink"} <= {name for name, _does in menus[""]}
    assert {"nuevo", "olvidar", "desconectar"} <= {name for name, _does in menus["es"]}


@pytest.mark.parametrize("language", ["en", "es"])
def test_every_command_of_a_menu_is_known(link: SurfaceLink, language: str) -> None:
    with translation.override(language):
        names = [name for name, _does in intake.commands.menu()]
    for name in names:
        outcome = arrive(f"/{name}").outcome
        assert outcome.startswith("/")
        assert outcome.strip("?")[1:] in {"new", "stop", "again", "forget", "language", "link", "unlink", "help"}


def test_new_asks_first_and_no_changes_nothing(phone: Conversation) -> None:
    said(phone, "before")
    arrive("/new")
    assert set(buttons()) == {"Here", "Everywhere", "No"}
    assert not Event.objects.filter(type="memory.boundary").exists()
    arrive("No.")
    assert told()[-1] == "Nothing was changed."
    assert not Event.objects.filter(type="memory.boundary").exists()
    assert Message.objects.count() == 1  # the answer was no message


def test_new_here_is_here_only(phone: Conversation, web: Conversation) -> None:
    said(phone, "on the phone")
    said(web, "on the web")
    arrive("/nuevo")
    arrive("here")
    assert Event.objects.filter(conversation=phone, type="memory.boundary").count() == 1
    phone.refresh_from_db()
    assert memory.build_context(phone).messages == []
    assert [m.text for m in memory.build_context(web).messages] == ["on the phone", "on the web"]


def test_new_everywhere_is_everywhere_also_in_chats_made_later(
    user: Any, phone: Conversation, web: Conversation
) -> None:
    said(phone, "on the phone")
    said(web, "on the web")
    arrive("/new")
    press(buttons()["Everywhere"])
    phone.refresh_from_db()
    assert memory.build_context(phone).messages == []
    later = log.create(Owner(user.pk), "web")
    assert memory.build_context(later).messages == []
    assert memory.load_cross_context(user) == []
    assert memory.load_surface_recent(user) == []
    assert [m.text for m in memory.build_context(web).messages] == ["on the web"]  # its own thread
    said(phone, "after")
    assert [m.text for m in memory.build_context(later).messages] == ["after"]


def test_new_everywhere_is_one_persons(other: Any, phone: Conversation) -> None:
    theirs = log.create(Owner(other.pk), "telegram", singleton=True)
    said(theirs, "theirs")
    arrive("/new")
    arrive("everywhere")
    assert [m.text for m in memory.build_context(theirs).messages] == ["theirs"]


def test_forget_words_asks_and_erases_them_wherever_they_were_said(phone: Conversation, web: Conversation) -> None:
    cat, dog = said(phone, "My cat is called Miso."), said(phone, "My dog is called Rex.")
    answer = said(web, "Hello to miso!", role="assistant", turn=said(web, "hi").seq)
    arrive("/forget miso")
    assert "2 messages (Telegram: 1, Web: 1)" in told()[-1]
    assert Message.objects.filter(status="redacted").count() == 0
    late = said(phone, "Miso again, after the question")
    arrive("yes")
    for message, status in [(cat, "redacted"), (answer, "redacted"), (dog, "complete"), (late, "complete")]:
        message.refresh_from_db()
        assert message.status == status
    assert told()[-1].startswith("Deleted: 2 messages")
    assert "on your phone stays there" in told()[-1]
    assert not any(b"miso" in bytes(row.raw) for row in InboundUpdate.objects.all())


def test_forget_the_last_turn(phone: Conversation) -> None:
    said(phone, "keep me")
    asked = said(phone, "my secret")
    said(phone, "your secret", role="assistant", turn=asked.turn)
    arrive("/olvidar lo último")
    press(buttons()["Yes, delete"])
    assert list(Message.objects.exclude(status="redacted").values_list("text", flat=True)) == ["keep me"]


def test_forget_what_a_command_answers(phone: Conversation) -> None:
    mine = body("my secret")
    handled(mine)
    arrive("something else")
    arrive("/forget", reply_to_message={"message_id": mine["message_id"], "text": "my secret"})
    arrive("yes")
    assert Message.objects.get(status="redacted").client_id is not None
    ours = said(phone, "the answer", role="assistant")
    Delivery.objects.create(
        conversation=phone, message=ours, surface="telegram", account="7000000001", chat=str(PERSON),
        payload={"text": "the answer"}, status="sent", external_id="77",
    )  # fmt: skip
    arrive("/forget", reply_to_message={"message_id": 77, "text": "the answer"})
    arrive("sí")
    ours.refresh_from_db()
    assert ours.status == "redacted"


def test_forget_all_erases_the_conversation_and_it_begins_anew(
    link: SurfaceLink, phone: Conversation, web: Any
) -> None:
    said(phone, "a")
    said(web, "b")
    arrive("/forget all")
    arrive("yes")
    assert list(Message.objects.values_list("text", flat=True)) == ["b"]
    assert "stays there" in told()[-1]
    assert arrive("hello again").outcome == "message"


def test_forget_names_what_it_can_forget(phone: Conversation) -> None:
    arrive("/forget")
    assert "/forget" in told()[-1]
    assert arrive("/forget nothing-like-that").outcome == "/forget"
    assert "nothing was deleted" in told()[-1]


def test_nobody_elses_words_are_found(other: Any, phone: Conversation) -> None:
    theirs = said(log.create(Owner(other.pk), "web"), "Miso is mine")
    arrive("/forget miso")
    assert "nothing was deleted" in told()[-1]
    theirs.refresh_from_db()
    assert theirs.status == "complete"


def test_unlinking_asks_what_becomes_of_it(user: Any, link: SurfaceLink) -> None:
    arrive("hello")
    arrive("/unlink")
    assert set(buttons()) == {"Disconnect and keep", "Disconnect and remove", "No"}
    assert linking.accounts(user) == [link]
    arrive("keep")
    assert linking.accounts(user) == []
    assert "Disconnected" in told()[-1]
    assert Delivery.objects.order_by("pk").last().status == "pending"  # type: ignore[union-attr]
    assert arrive("who am I?").outcome == "told"
    assert Message.objects.count() == 1


def test_unlinking_cancels_what_waits_and_removes_if_asked(user: Any, link: SurfaceLink, phone: Conversation) -> None:
    from crossmemory import outbox

    arrive("hello")
    place = {"surface": "telegram", "account": "7000000001", "chat": str(PERSON)}
    outbox.write(place, [{"text": "late"}], conversation=phone)
    arrive("/desconectar")
    press(buttons()["Disconnect and remove"])
    assert not Message.objects.exists()
    assert not Delivery.objects.filter(payload__text="late", status="pending").exists()
    assert "removed" in told()[-1]
    assert linking.active("telegram", "7000000001", str(PERSON)) is None


async def test_an_answer_that_is_being_written_goes_nowhere_after_unlinking(
    user: Any, link: SurfaceLink, script: Any, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "QUIET_SECONDS": 0}

    async def reply(context: Any) -> Any:
        await db.run(intake.unlink, user, link.uid, "keep")
        yield "your secret"

    await db.run(arrive, "hello")
    script.script = reply
    await engine.run_waiting("test")
    assert not await Delivery.objects.filter(payload__text__icontains="secret").aexists()
    assert (await Run.objects.aget()).status in ("completed", "stopped")


async def test_a_press_counts_though_the_platform_does_not_listen(
    link: SurfaceLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_about = []

    async def hangs(surface: TelegramSurface, inbound: Any) -> None:
        told_about.append(inbound.press)
        await asyncio.sleep(60)

    monkeypatch.setattr(TelegramSurface, "acknowledge", hangs)
    await db.run(arrive, "/new")
    data = (await db.run(buttons))["Here"]
    query = {
        "id": "4382", "from": {"id": PERSON, "is_bot": False}, "data": data,
        "message": {"message_id": 1, "date": 0, "chat": {"id": PERSON, "type": "private"}},
    }  # fmt: skip
    await db.run(store, query, "callback_query")
    await work(5)
    assert told_about == ["4382"]
    assert await Event.objects.filter(type="memory.boundary").acount() == 1


def test_what_waits_is_not_answered_after_unlinking(user: Any, link: SurfaceLink) -> None:
    arrive("hello")
    intake.unlink(user, link.uid)
    assert Run.objects.get().status == "stopped"


def test_a_question_is_answered_once_by_who_was_asked_and_only_just_then(
    other: Any, link: SurfaceLink, phone: Conversation
) -> None:
    said(phone, "Miso")
    arrive("/forget miso")
    data = buttons()["Yes, delete"]
    SurfaceLink.objects.create(
        user=other, surface="telegram", account="7000000001", external_id="77", chat="77", status="active"
    )
    assert press(data, sender=77).outcome == "late answer"
    assert press("ask:1:yes").outcome == "late answer"
    assert press("ask:x:yes").outcome == "late answer"
    assert press(data.replace("yes", "keep")).outcome == "late answer"
    assert Message.objects.filter(status="redacted").count() == 0
    arrive("wait")
    assert arrive("yes").outcome == "message"  # not an answer any more: something was said in between
    assert press(data).outcome == "/forget: yes"
    (edit,) = Delivery.objects.filter(payload__has_key="edits")
    assert "buttons" not in edit.payload  # the question stands, without its buttons
    assert press(data).outcome == "late answer"
    assert Message.objects.filter(status="redacted").count() == 1


def test_a_question_is_not_answered_by_who_has_the_account_next(user: Any, other: Any, phone: Conversation) -> None:
    said(phone, "Miso")
    arrive("/forget miso")
    data = buttons()["Yes, delete"]
    code, _ = linking.create_code(other, "telegram", "both")
    arrive(f"/start {code}")
    (pending,) = linking.accounts(other)
    linking.confirm(other, pending.uid)
    assert press(data).outcome == "late answer"
    assert arrive("yes").outcome == "message"
    assert not Message.objects.filter(status="redacted").exists()


def test_yes_without_a_question_is_a_message(link: SurfaceLink) -> None:
    assert arrive("yes").outcome == "message"
    assert arrive("sí").outcome == "message"


@pytest.mark.parametrize("language", ["en", "es"])
@pytest.mark.parametrize("choice", list(asking.WORDS))
def test_the_word_that_is_asked_for_is_understood(language: str, choice: str) -> None:
    with translation.override(language):
        word = asking._typed(choice)
    for typed in (word, word.upper(), f" {word}. ", f"“{word}”"):
        assert choice in asking._meant(typed)


def test_an_unknown_button_is_skipped(link: SurfaceLink) -> None:
    row = press("confirm:81")
    assert (row.status, row.outcome) == ("skipped", "button confirm")
