"""Files come along when they can. One that is slow, too large or broken holds nobody up and loses no words."""

import asyncio
import json
import time
from typing import Any

import pytest

from crossmemory import db, intake
from crossmemory.intake import files
from crossmemory.models import Attachment, InboundUpdate, Message, SurfaceLink
from crossmemory.surfaces import FileTrouble, RemoteFile
from crossmemory.surfaces.telegram import TelegramSurface
from tests.intake.phone import body, edit, found, store, told, work

pytestmark = pytest.mark.django_db(transaction=True)

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000020000000308020000003682881a0000000f49444154789c63606060f80f0403000"
    "e0003ff8c2c1f0000000049454e44ae426082"
)


def describe(content: Any, mime: str, kind: str) -> str:
    """A DESCRIBER."""
    return f"{len(content.read())} bytes of {mime}"


def slow(content: Any, mime: str, kind: str) -> str:
    time.sleep(0.6)
    return "too late"


def broken(content: Any, mime: str, kind: str) -> str:
    raise ValueError("broken")


class Holder:
    """Stands for the platform's store of files."""

    def __init__(self) -> None:
        self.files: dict[str, bytes | Exception | float] = {}
        self.fetched: list[str] = []

    async def fetch(self, surface: TelegramSurface, file: RemoteFile) -> bytes:
        self.fetched.append(file.reference)
        content = self.files[file.reference]
        if isinstance(content, Exception):
            raise content
        if isinstance(content, float):
            await asyncio.sleep(content)
            return PNG
        return content


@pytest.fixture
def holder(monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Any) -> Holder:
    made = Holder()
    monkeypatch.setattr(TelegramSurface, "fetch", lambda self, file: made.fetch(self, file))
    settings.MEDIA_ROOT = tmp_path
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "QUIET_SECONDS": 0.2}
    return made


def photo(reference: str = "p", **fields: Any) -> dict[str, Any]:
    sizes = [{"file_id": f"{reference}-s", "width": 1, "height": 1}, {"file_id": reference, "width": 2, "height": 3}]
    return body(None, photo=sizes, **fields)


KINDS: list[tuple[dict[str, Any], str, str]] = [
    ({"photo": [{"file_id": "f", "width": 2, "height": 3}]}, "photo", "[photo]"),
    ({"voice": {"file_id": "f", "duration": 4, "mime_type": "audio/ogg"}}, "voice", "[voice 0:04]"),
    ({"audio": {"file_id": "f", "duration": 9, "file_name": "a.mp3"}}, "audio", "[audio a.mp3]"),
    ({"video": {"file_id": "f", "duration": 70, "width": 2, "height": 3}}, "video", "[video 1:10]"),
    ({"video_note": {"file_id": "f", "duration": 3, "length": 240}}, "video_note", "[video note 0:03]"),
    ({"animation": {"file_id": "f", "duration": 3}, "document": {"file_id": "x"}}, "animation", "[animation 0:03]"),
    ({"document": {"file_id": "f", "file_name": "plan.pdf"}}, "document", "[file plan.pdf]"),
    ({"sticker": {"file_id": "f", "emoji": "👍", "width": 512, "height": 512}}, "sticker", "[sticker 👍]"),
    ({"live_photo": {"file_id": "v", "photo": [{"file_id": "f", "width": 2, "height": 3}]}}, "photo", "[photo]"),
]


@pytest.mark.parametrize(("content", "kind", "words"), KINDS, ids=[kind for _c, kind, _w in KINDS[:-1]] + ["live"])
async def test_each_kind_of_file_is_kept(
    holder: Holder, link: SurfaceLink, content: dict[str, Any], kind: str, words: str
) -> None:
    holder.files["f"] = PNG
    await db.run(store, body(None, **content))
    await work()
    message = await Message.objects.aget()
    kept = await Attachment.objects.aget()
    assert message.text == words
    assert (kept.message_id, kept.type, kept.bytes) == (message.pk, kind, len(PNG))
    assert message.parts == [kept.part()]
    assert holder.fetched == ["f"]


async def test_what_is_in_a_file_is_said_by_the_describer(holder: Holder, link: SurfaceLink, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "DESCRIBER": "tests.intake.test_files.describe"}
    holder.files["p"] = PNG
    await db.run(store, photo(caption="look"))
    await work()
    assert (await Message.objects.aget()).text == f"[photo: {len(PNG)} bytes of image/png] look"
    assert await db.run(told) == []


@pytest.mark.parametrize("describer", ["slow", "broken"])
async def test_a_describer_that_is_slow_or_broken_holds_nobody_up(
    holder: Holder, link: SurfaceLink, settings: Any, monkeypatch: pytest.MonkeyPatch, describer: str
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "DESCRIBER": f"tests.intake.test_files.{describer}"}
    monkeypatch.setattr(files, "DESCRIBE_SECONDS", 0.2)
    holder.files["p"] = PNG
    await db.run(store, photo(caption="look"))
    await work()
    assert (await Message.objects.aget()).text == "[photo] look"
    assert await Attachment.objects.acount() == 1


async def test_what_cannot_be_prepared_is_parked_and_holds_its_sender_no_longer(
    link: SurfaceLink, monkeypatch: pytest.MonkeyPatch, settings: Any
) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "INBOX_MAX_ATTEMPTS": 2}
    parse = TelegramSurface.parse

    def poisoned(self: TelegramSurface, raw: bytes) -> Any:
        if b"poison" in raw:
            raise ValueError("poison")
        return parse(self, raw)

    monkeypatch.setattr(TelegramSurface, "parse", poisoned)
    poison = await db.run(store, photo(caption="poison"))
    await db.run(store, body("hello?"))
    await work()
    assert (await InboundUpdate.objects.aget(external_id=poison)).status == "dead"
    assert (await Message.objects.aget()).text == "hello?"


async def test_without_a_describer_it_is_said_once_that_nobody_looks(holder: Holder, link: SurfaceLink) -> None:
    holder.files["p"] = PNG
    for _ in range(3):
        await db.run(store, photo())
        await work()
    assert len(await db.run(told)) == 1
    assert "cannot look into files" in (await db.run(told))[0]


async def test_an_agent_that_looks_at_pictures_needs_no_such_line(
    holder: Holder, link: SurfaceLink, script: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "pictures", 4)
    holder.files = {"p": PNG, "f": PNG}
    await db.run(store, photo())
    await work()
    assert await db.run(told) == []
    await db.run(store, body(None, voice={"file_id": "f", "duration": 4}))
    await work()
    assert len(await db.run(told)) == 1  # but nobody hears a recording


async def test_a_sticker_alone_is_nothing_to_look_into(holder: Holder, link: SurfaceLink) -> None:
    holder.files["f"] = PNG
    await db.run(store, body(None, sticker={"file_id": "f", "emoji": "👍"}))
    await work()
    assert await db.run(told) == []


TROUBLES = [
    (RuntimeError("a surface that raises"), "not fetched", "could not fetch"),
    (FileTrouble("failed"), "not fetched", "could not fetch"),
    (FileTrouble("too_large"), "too large to fetch", "larger than"),
    (b"", "not fetched", "could not fetch"),
    (OSError("disk full"), "not fetched", "could not fetch"),
    (60.0, "not fetched", "could not fetch"),
]


@pytest.mark.parametrize(
    ("trouble", "words", "notice"), TROUBLES, ids=["raises", "failed", "large", "empty", "storage", "slow"]
)
async def test_a_file_that_does_not_come_loses_no_words(
    holder: Holder, link: SurfaceLink, monkeypatch: pytest.MonkeyPatch, trouble: Any, words: str, notice: str
) -> None:
    monkeypatch.setattr(files, "FILE_SECONDS", 0.3)
    holder.files["p"] = trouble
    await db.run(store, photo(caption="what is this?"))
    await work()
    message = await Message.objects.aget()
    assert message.text == f"[photo, {words}] what is this?"
    assert message.parts[0]["missing"] in ("failed", "too_large")
    assert notice in (await db.run(told))[0]
    assert not await Attachment.objects.aexists()


async def test_a_slow_file_delays_its_sender_only_and_keeps_their_order(
    holder: Holder, link: SurfaceLink, other: Any
) -> None:
    """More slow files than rows are handled at the same time."""
    holder.files = {str(number): 1.0 for number in range(8)}
    holder.files["p"] = 1.0
    for number in range(8):
        await SurfaceLink.objects.acreate(
            user=await db.run(other.__class__.objects.create_user, f"u{number}"), surface="telegram",
            account="7000000001", external_id=f"{number}", chat=f"{number}", status="active",
        )  # fmt: skip
        await db.run(store, photo(str(number), sender=number))
    await SurfaceLink.objects.acreate(
        user=other, surface="telegram", account="7000000001", external_id="77", chat="77", status="active"
    )
    await db.run(store, photo(caption="what is this?"))
    await db.run(store, body("the blue part I mean"))
    await db.run(store, body("quick", sender=77))
    await work()
    texts = [row.text async for row in Message.objects.filter(role="user").order_by("pk")]
    assert texts[0] == "quick"
    assert texts.index("[photo] what is this?") < texts.index("the blue part I mean")


async def test_the_files_of_an_album_come_along(holder: Holder, link: SurfaceLink) -> None:
    holder.files = {"a": PNG, "b": FileTrouble("failed"), "c": PNG}
    for reference in "abc":
        await db.run(store, photo(reference, media_group_id="1"))
    await work()
    message = await Message.objects.aget()
    assert message.text == "[photo]\n[photo, not fetched]\n[photo]"
    assert await Attachment.objects.filter(message=message).acount() == 2


async def test_files_of_strangers_are_never_fetched(holder: Holder, transactional_db: Any) -> None:
    holder.files["p"] = PNG
    await db.run(store, photo(sender=7))
    await work()
    assert holder.fetched == []


async def test_another_file_in_an_edited_message_takes_the_place_of_the_first(
    holder: Holder, link: SurfaceLink
) -> None:
    holder.files = {"p": PNG, "q": PNG + b"x"}
    said = photo(caption="one")
    await db.run(store, said)
    await work()
    first = await Attachment.objects.aget()
    await db.run(
        store, {**said, "photo": [{"file_id": "q", "width": 2, "height": 3}], "caption": "two"}, "edited_message"
    )
    await work()
    second = await Attachment.objects.aget()
    message = await Message.objects.aget()
    assert (second.bytes, second.message_id) == (len(PNG) + 1, message.pk)
    assert message.text == "[photo] two"
    assert message.parts == [second.part()]
    assert not first.file.storage.exists(first.file.name)


async def test_the_same_file_is_not_fetched_again_for_another_caption(holder: Holder, link: SurfaceLink) -> None:
    holder.files = {"p": PNG}
    said = photo(caption="one")
    await db.run(store, said)
    await work()
    before = (await Message.objects.aget()).parts
    await db.run(store, {**said, "caption": "two"}, "edited_message")
    await work()
    message = await Message.objects.aget()
    assert (message.text, message.parts) == ("[photo] two", before)
    assert holder.fetched == ["p"]


async def test_a_file_of_somebody_who_unlinks_meanwhile_goes_nowhere(
    holder: Holder, link: SurfaceLink, user: Any
) -> None:
    holder.files["p"] = 0.5
    await db.run(store, photo(caption="hello"))
    working = asyncio.create_task(work())
    await asyncio.sleep(0.2)
    await db.run(intake.unlink, user, link.uid, "remove")
    await working
    assert not await Message.objects.aexists()
    assert [row.outcome async for row in InboundUpdate.objects.filter(kind="message")][-1] == "told"


async def test_the_reference_of_a_file_is_in_no_log(holder: Holder, link: SurfaceLink) -> None:
    holder.files["secret-reference"] = PNG
    await db.run(store, photo("secret-reference"))
    await work()
    message = await Message.objects.aget()
    assert "secret-reference" not in json.dumps(message.parts)


def test_words_are_stored_without_files_when_those_belong_to_somebody_else(link: SurfaceLink) -> None:
    row = found(store(photo(caption="look")))
    parts = [{"type": "photo", "attachment": "00000000-0000-0000-0000-000000000000", "words": "photo"}]
    intake.handle(row, intake.Prepared(parts={row.pk: parts}))
    assert Message.objects.get().text == "[photo] look"
    edit(photo())  # and a message that is not known has no files to fetch
