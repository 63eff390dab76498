"""Files: kept for their person, sent once, shown to nobody else, and gone with what they belong to."""

import contextlib
import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db import IntegrityError
from django.utils import timezone

from crossmemory import attachments, erase, expiry, intake, log
from crossmemory.events import Actor
from crossmemory.exceptions import AttachmentError, Conflict, EmptyFile, FileTooLarge, TooManyFiles
from crossmemory.models import Attachment, Conversation, Event, Message, MessageRevision, Owner
from crossmemory.models.guard import log_writes

pytestmark = pytest.mark.django_db(transaction=True)

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x20\x00\x00\x00\x10\x08\x06\x00\x00\x00" + bytes(64)


@pytest.fixture
def chat(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def kept(chat: Conversation, content: bytes = PNG, **about: Any) -> Attachment:
    return attachments.keep(chat, io.BytesIO(content), **{"name": "harbour.png", **about})


def say(chat: Conversation, text: str, *files: Attachment, client_id: str = "c1") -> log.Stored:
    parts = [{"attachment": str(each.uid)} for each in files]
    author = Actor("user", str(chat.user_id))
    return intake.say_on_the_page(chat, text, author=author, client_id=client_id, parts=parts)


def exists(row: Attachment) -> bool:
    return bool(storages["default"].exists(row.file.name))


def test_what_a_file_is_is_told_by_its_bytes_and_not_by_its_sender(chat: Conversation) -> None:
    photo = kept(chat, name="notes.html", mime="text/html")
    assert (photo.type, photo.mime, photo.details) == ("photo", "image/png", {"width": 32, "height": 16})
    page = kept(chat, b"<script>alert(1)</script>", name="harbour.png", mime="image/png")
    assert (page.type, page.mime, page.details) == ("document", "application/octet-stream", {})
    text = kept(chat, b"hello", name="notes.txt", mime="text/plain")
    assert (text.type, text.mime) == ("document", "text/plain")


@pytest.mark.parametrize(
    ("name", "kept_as"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\ana\\boat.png", "boat.png"),
        ("a\x00b\r\nc.txt", "a�bc.txt"),
        ("x" * 300 + ".png", "x" * 251 + ".png"),
        ("", ""),
    ],
)
def test_a_senders_name_is_only_a_name(chat: Conversation, name: str, kept_as: str) -> None:
    row = kept(chat, name=name)
    assert row.name == kept_as
    assert row.file.name == f"crossmemory/{chat.uid}/{row.uid}"


def test_a_sent_file_is_a_part_of_its_message(chat: Conversation) -> None:
    file = kept(chat)
    stored = say(chat, "Look!", file)
    message = Message.objects.get(pk=stored.id)
    part = {
        "type": "photo",
        "attachment": str(file.uid),
        "words": "photo harbour.png",
        "name": "harbour.png",
        "mime": "image/png",
        "bytes": len(PNG),
        "width": 32,
        "height": 16,
    }
    assert (message.text, message.parts) == ("[photo harbour.png] Look!", [part])
    assert f'"parts":[{{"type":"photo","attachment":"{file.uid}"' in Event.objects.get(seq=stored.seq).body
    assert Attachment.objects.get().message_id == stored.id


def test_a_message_of_files_alone_is_not_empty(chat: Conversation) -> None:
    stored = say(chat, "", kept(chat), kept(chat, b"text", name="notes.txt"))
    assert Message.objects.get(pk=stored.id).text == "[photo harbour.png] [file notes.txt]"


def test_a_repeated_message_takes_its_files_once(chat: Conversation) -> None:
    file = kept(chat)
    first, again = say(chat, "Look!", file), say(chat, "Look!", file)
    assert (first.duplicate, again.duplicate, again.id) == (False, True, first.id)
    with pytest.raises(Conflict):
        say(chat, "Look!", kept(chat))


def test_a_file_belongs_to_one_message_of_one_conversation(chat: Conversation, user: Any, other: Any) -> None:
    file = kept(chat)
    say(chat, "Look!", file)
    elsewhere = log.create(Owner.of(user), "web", "Other")
    theirs = log.create(Owner.of(other), "web", "Theirs")
    for place, files in ((chat, [file]), (elsewhere, [kept(chat)]), (theirs, [kept(chat)])):
        with pytest.raises(AttachmentError):
            say(place, "Mine?", *files, client_id="c2")
    twice = kept(chat)
    with pytest.raises(AttachmentError):
        say(chat, "Twice", twice, twice, client_id="c3")
    assert Message.objects.count() == 1  # what is refused is not stored


def test_what_is_too_large_empty_or_too_many_is_refused(chat: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "MAX_ATTACHMENT_BYTES": 100, "MAX_ATTACHMENTS": 1}
    assert kept(chat, bytes(100)).bytes == 100
    with pytest.raises(FileTooLarge):
        kept(chat, bytes(101))
    with pytest.raises(EmptyFile):
        kept(chat, b"")
    with pytest.raises(TooManyFiles):
        say(chat, "", kept(chat, b"1"), kept(chat, b"2"))
    for _ in range(attachments._UNSENT - Attachment.objects.count()):
        kept(chat, b"x")
    with pytest.raises(TooManyFiles):
        kept(chat, b"x")


def test_a_file_whose_row_is_not_stored_is_not_left_behind(chat: Conversation, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise IntegrityError

    monkeypatch.setattr(Attachment, "save", fail)
    with pytest.raises(IntegrityError):
        kept(chat)
    with contextlib.suppress(FileNotFoundError):  # the folder went along
        assert storages["default"].listdir(f"crossmemory/{chat.uid}") == ([], [])


def test_a_describer_says_what_is_in_a_file(chat: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "DESCRIBER": "tests.test_attachments.describer"}
    photo, voice = kept(chat), kept(chat, b"OggS" + bytes(40), name="", type="voice", seconds=4)
    for file in (photo, voice):
        attachments.describe(file)
    stored = say(chat, "", Attachment.objects.get(pk=photo.pk), voice)
    message = Message.objects.get(pk=stored.id)
    said = f"a image/png, {len(PNG)} bytes"
    assert message.text == f"[photo harbour.png: {said}] [voice 0:04]"  # it failed for the voice
    assert [part.get("text") for part in message.parts or ()] == [said, None]


def describer(file: Any, mime: str, type: str) -> str:
    if type == "voice":
        raise RuntimeError("no ears")
    return f"a {mime}, {len(file.read())} bytes"


def test_erasing_takes_the_files_along(chat: Conversation, user: Any) -> None:
    first, second, unsent = kept(chat), kept(chat), kept(chat)
    one = say(chat, "One", first)
    say(chat, "Two", second, client_id="c2")
    erase.message(Message.objects.get(pk=one.id), Actor("user", str(user.pk)))
    assert [exists(each) for each in (first, second, unsent)] == [False, True, True]
    assert "harbour.png" not in Event.objects.get(conversation=chat, seq=one.seq).body
    user.delete()
    assert not Attachment.objects.exists()
    assert [exists(each) for each in (second, unsent)] == [False, False]


def test_what_has_had_its_time_is_forgotten(chat: Conversation) -> None:
    old, new, sent = kept(chat), kept(chat), kept(chat)
    stored = say(chat, "Look!", sent)
    long_ago = timezone.now() - timedelta(hours=25)
    Attachment.objects.filter(pk__in=[old.pk, sent.pk]).update(created_at=long_ago)
    message = Message.objects.get(pk=stored.id)
    for text in ("Look here!", "Look there!"):
        log.edit(message, text, Actor("user", "1"))
    with log_writes():
        MessageRevision.objects.filter(text="Look here!").update(expires_at=long_ago)
    assert expiry.expire() == {"updates": 0, "revisions": 1, "files": 1}
    assert [exists(each) for each in (old, new, sent)] == [False, True, True]
    assert MessageRevision.objects.count() == 1
