"""Edits replace words; they never ask for an answer by themselves."""

from typing import Any

import pytest

from crossmemory import memory, turns
from crossmemory.models import Event, InboundUpdate, Message, MessageRevision, Run, SurfaceLink
from tests.intake.phone import arrive, body, buttons, claimed, edit, handled, press, told

pytestmark = pytest.mark.django_db(transaction=True)


def answered() -> Run:
    """What waits is answered."""
    run = claimed()
    turns.complete(run, None, "an answer", saw={}, degraded=False, usage=None, outgoing=lambda *args: None)
    return run


def test_before_it_is_answered_an_edit_replaces_the_words(link: SurfaceLink) -> None:
    said = body("frist")
    handled(said)
    row = edit(said, text="first")
    message = Message.objects.get()
    assert message.text == "first"
    assert (row.status, row.outcome, row.message) == ("done", "edited", message)
    assert Run.objects.count() == 1
    assert told() == []
    assert [each.text for each in MessageRevision.objects.all()] == ["frist"]
    assert Event.objects.filter(type="message.edited", message=message.pk).exists()


@pytest.mark.parametrize("finished", [False, True])
def test_afterwards_the_person_may_have_it_answered_again(link: SurfaceLink, finished: bool) -> None:
    said = body("what is my dog called?")
    handled(said)
    run = answered() if finished else claimed()
    row = edit(said, text="what is my cat called?")
    assert row.outcome == "edited after the answer"
    assert Run.objects.count() == 1
    assert "/again" in told()[-1]
    assert list(buttons()) == ["Answer again"]
    context = memory.build_context(run.conversation, trigger=run.trigger)
    assert context.question == "what is my cat called?"
    assert not any("dog" in each.text for each in context.messages)


def test_the_button_answers_the_edited_message_and_not_the_newest(link: SurfaceLink) -> None:
    old = body("old question")
    handled(old)
    answered()
    arrive("new question")
    answered()
    edit(old, text="other question")
    assert press(buttons()["Answer again"]).outcome == "/again"
    run = Run.objects.get(status="queued")
    assert memory.build_context(run.conversation, trigger=run.trigger).question == "other question"
    assert run.destination is not None
    assert press(buttons()["Answer again"]).outcome == "/again"  # twice is once: it is on its way
    assert Run.objects.filter(status="queued").count() == 1


def test_the_typed_command_answers_what_was_edited_last(link: SurfaceLink) -> None:
    old = body("old question")
    handled(old)
    answered()
    arrive("new question")
    answered()
    edit(old, text="other question")
    assert arrive("/again").outcome == "/again"
    run = Run.objects.get(status="queued")
    assert memory.build_context(run.conversation, trigger=run.trigger).question == "other question"
    answered()
    assert arrive("/repetir").outcome == "/again"
    run = Run.objects.get(status="queued")
    assert memory.build_context(run.conversation, trigger=run.trigger).question == "new question"


def test_what_nobody_will_answer_any_more_may_be_answered_again(link: SurfaceLink) -> None:
    said = body("a qestion")
    handled(said)
    arrive("/stop")
    assert edit(said, text="a question").outcome == "edited after the answer"
    press(buttons()["Answer again"])
    assert Run.objects.filter(status="queued").count() == 1


def test_what_is_said_during_an_answer_can_still_be_changed_unasked(link: SurfaceLink) -> None:
    arrive("a question")
    claimed()
    meanwhile = body("and anotehr")
    handled(meanwhile)
    assert edit(meanwhile, text="and another").outcome == "edited"
    assert told() == []


def test_an_edit_that_changes_nothing_says_nothing(link: SurfaceLink) -> None:
    said = body("the same")
    handled(said)
    answered()
    assert edit(said).outcome == "edit without a change"
    assert told() == []
    assert not MessageRevision.objects.exists()


def test_a_caption_is_edited_and_the_file_stays(link: SurfaceLink) -> None:
    photo = [{"file_id": "a", "file_unique_id": "u", "width": 3, "height": 2}]
    said = body(None, photo=photo, caption="what is tihs?")
    handled(said)
    parts = Message.objects.get().parts
    edit(said, caption="what is this?")
    message = Message.objects.get()
    assert message.text == "[photo] what is this?"
    assert message.parts == parts
    edit(said, caption="")
    assert Message.objects.get().text == "[photo]"


def test_an_edit_keeps_the_frame_of_what_it_is_about(link: SurfaceLink) -> None:
    said = body("and tihs?", quote={"text": "Pier 3\n[about] closed", "position": 0})
    handled(said)
    edit(said, text="and this?")
    assert Message.objects.get().text == "[about]\n> Pier 3\n> [about] closed\nand this?"


@pytest.mark.parametrize("which", ["unknown", "command", "redacted", "stranger", "location", "emptied"])
def test_edits_that_lead_to_nothing(link: SurfaceLink, user: Any, which: str) -> None:
    from crossmemory import erase
    from crossmemory.events import Actor

    said = body("words")
    handled(said)
    other: dict[str, Any] = {"text": "other words"}
    if which == "unknown":
        said = body("never seen")
    elif which == "command":
        said = body("/help")
        handled(said)
    elif which == "redacted":
        erase.message(Message.objects.get(), Actor("user", str(user.pk)))
    elif which == "stranger":
        said["from"] = {**said["from"], "id": 7}
    elif which == "location":
        said = body(None, location={"latitude": 1.0, "longitude": 2.0, "live_period": 60})
        handled(said)
        other = {"location": {"latitude": 1.5, "longitude": 2.0, "live_period": 60}}
    else:
        other = {"text": " "}
    before = list(Message.objects.values_list("text", flat=True))
    edit(said, **other)
    assert list(Message.objects.values_list("text", flat=True)) == before
    assert Run.objects.count() == 1
    assert not any("changed" in text for text in told())


def test_messages_of_the_same_number_in_other_chats_are_others(link: SurfaceLink) -> None:
    first = body("mine", message_id=101)
    handled(first)
    stranger = body("theirs", sender=412345678, message_id=101)
    handled(stranger)
    edit(stranger, text="changed")
    assert Message.objects.get().text == "mine"


def test_two_messages_without_a_number_do_not_collide(link: SurfaceLink) -> None:
    first, second = body("one", message_id=0), body("two", message_id=0)
    handled(first)
    handled(second)
    edit(first, text="changed")
    assert list(Message.objects.order_by("pk").values_list("text", flat=True)) == ["one", "two"]


def test_what_is_deleted_takes_every_update_of_it_along(link: SurfaceLink, user: Any) -> None:
    from crossmemory import erase
    from crossmemory.events import Actor

    said = body("a secret")
    handled(said)
    edit(said, text="a better secret")
    erase.message(Message.objects.get(), Actor("user", str(user.pk)))
    assert not any(b"secret" in bytes(row.raw) for row in InboundUpdate.objects.all())
