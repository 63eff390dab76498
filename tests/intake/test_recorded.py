"""Every recorded update goes the real way: fetched by the library's client, stored, confirmed, handled by the worker.

`fixtures/updates.jsonl` says of each what it means, and what it leads to: of people who are known, of strangers, and
(`groups`) where the bot listens in groups. `MORE` says what else must be so.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest

from crossmemory import db, linking, log, outbox, runs
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Delivery, InboundUpdate, LinkCode, Message, Poller, Run, SurfaceLink
from crossmemory.surfaces.telegram import client
from crossmemory.surfaces.telegram.updates import SHARED_IDS, sender_of
from tests.intake.fetched import BOT, RECORDED, World, come
from tests.telegram import canned
from tests.telegram.canned import Canned

pytestmark = pytest.mark.django_db(transaction=True)

IN_GROUPS = [name for name, record in RECORDED.items() if "groups" in record["leads_to"]]
TURN = ("message", "message, files unseen")  # outcomes of what is answered

OLD_GROUP, NEW_GROUP = "-4821093375", "-1002345678901"


@pytest.fixture
def world(settings: Any, monkeypatch: pytest.MonkeyPatch, transactional_db: None) -> World:
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "QUIET_SECONDS": 0,
        "SURFACES": {
            **settings.CROSSMEMORY["SURFACES"],
            "telegram": {
                "BACKEND": "crossmemory.surfaces.telegram.TelegramSurface",
                "OPTIONS": {"token": f"{BOT}:x", "label": "Telegram"},
            },
        },
    }
    monkeypatch.setenv("PTB_TIMEDELTA", "true")
    monkeypatch.setattr(runs, "wake", lambda after=0: None)
    found = World(Canned(lambda name, parameters: canned.fine([])))
    monkeypatch.setattr(client, "make_bot", lambda token, api_url, connections=16: canned.bot(found.server, token))
    return found


def listen_in_groups(settings: Any) -> None:
    surface = settings.CROSSMEMORY["SURFACES"]["telegram"]
    listening = {**surface, "OPTIONS": {**surface["OPTIONS"], "groups": True}}
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY, "SURFACES": {**settings.CROSSMEMORY["SURFACES"], "telegram": listening},
    }  # fmt: skip


@pytest.fixture
def everybody(world: World, django_user_model: Any) -> None:
    """Each sender of the recordings is connected, each as another person."""
    senders = {sender_of(record["update"]) for record in RECORDED.values()} - {""}
    for number, sender in enumerate(sorted(senders)):
        SurfaceLink.objects.create(
            user=django_user_model.objects.create_user(f"person{number}"), surface="telegram", account=BOT,
            external_id=sender, chat=sender, status="active",
        )  # fmt: skip


def check(world: World, name: str, outcome: str) -> None:
    """What is so of every update."""
    update = RECORDED[name]["update"]
    row = world.row(name)
    assert InboundUpdate.objects.count() == len(world.names)
    assert (row.status in ("done", "skipped"), row.outcome) == (True, outcome), row.error
    assert json.loads(bytes(row.raw)) == update
    assert Poller.objects.get().offset == update["update_id"] + 1
    turns = 1 if outcome in TURN else 0
    assert Message.objects.filter(role="user").count() == Run.objects.count() == turns
    if turns:
        message = Message.objects.get(role="user")
        sender = linking.active("telegram", BOT, sender_of(update))
        assert sender is not None
        assert message.owner_id == sender.user_id
        assert row.message_id == message.pk
        assert message.text.strip()
        assert row.raw  # with the platform's own marks, which the log does without


@pytest.mark.parametrize("name", RECORDED)
async def test_of_people_who_are_known(everybody: None, world: World, name: str) -> None:
    await db.run(prepare)
    await come(world, name)
    await db.run(check, world, name, RECORDED[name]["leads_to"]["known"])
    assert not await SurfaceLink.objects.filter(external_id__in=[str(each) for each in SHARED_IDS]).aexists()
    assert await LinkCode.objects.filter(used_at=None).acount() == 1
    if more := MORE.get(name):
        await db.run(more, world)


HEARD_IN_GROUPS = [name for name in IN_GROUPS if RECORDED[name]["leads_to"]["groups"] in (*TURN, "told")]
TOLD = [name for name, record in RECORDED.items() if record["leads_to"]["stranger"] == "told"]


@pytest.mark.parametrize("name", HEARD_IN_GROUPS)
async def test_where_the_bot_listens_in_groups(everybody: None, world: World, name: str, settings: Any) -> None:
    listen_in_groups(settings)
    await come(world, name)
    leads_to = RECORDED[name]["leads_to"]["groups"]
    await db.run(check, world, name, leads_to)
    if leads_to in TURN:
        destination = await db.run(world.destination)
        assert (destination["chat"], destination["topic"]) == (str(world.last["message"]["chat"]["id"]), "")
        assert not await Conversation.objects.filter(shared=True).aexists()
    assert await Delivery.objects.acount() == (leads_to == "told")


async def test_what_is_not_said_to_the_bot_in_groups_leads_to_nothing(
    everybody: None, world: World, settings: Any
) -> None:
    listen_in_groups(settings)
    names = [name for name in IN_GROUPS if name not in HEARD_IN_GROUPS]
    await come(world, *names)
    for name in names:
        assert (await db.run(world.row, name)).outcome == RECORDED[name]["leads_to"]["groups"]
    assert not await Message.objects.aexists()
    assert not await Delivery.objects.aexists()


@pytest.mark.parametrize("name", TOLD)
async def test_of_strangers(world: World, name: str) -> None:
    await come(world, name)
    await db.run(check, world, name, "told")
    assert not await Conversation.objects.aexists()
    assert not await SurfaceLink.objects.aexists()
    [(chat, text)] = [(row.chat, row.payload["text"]) async for row in Delivery.objects.all()]
    if name == "deep_link_in_group":
        assert (chat, text) == (NEW_GROUP, "Abre un chat privado conmigo para conectar tu cuenta.")
    else:
        assert chat == sender_of(RECORDED[name]["update"])
        assert "Connect Telegram" in text


async def test_what_leads_to_nothing_does_so_for_strangers_too(world: World) -> None:
    names = [name for name in RECORDED if name not in TOLD]
    await come(world, *names)
    for name in names:
        assert (await db.run(world.row, name)).outcome == RECORDED[name]["leads_to"]["stranger"]
    for model in (Conversation, SurfaceLink, Delivery):
        assert not await model.objects.aexists()


async def test_all_of_them_one_after_the_other(everybody: None, world: World) -> None:
    await come(world, *RECORDED)
    rows = [row async for row in InboundUpdate.objects.all()]
    assert {row.status for row in rows} == {"done", "skipped"}
    album = {name for name in RECORDED if name.startswith("album_")}
    turns = [name for name, record in RECORDED.items() if record["leads_to"]["known"] in TURN]
    assert await Message.objects.filter(role="user").acount() == len(turns) - len(album) + 1
    assert {run.status async for run in Run.objects.all()} == {"queued"}
    assert await Run.objects.acount() == len({sender_of(RECORDED[name]["update"]) for name in turns})


async def test_an_album_is_one_message_with_three_files_and_one_turn(everybody: None, world: World) -> None:
    """Whatever the order in which its pieces come."""
    await come(world, "album_3_of_3", "album_1_of_3", "album_2_of_3")
    assert await db.run(world.said) == ["[photo] before\n[photo]\n[photo] after"]
    message = await Message.objects.aget()
    assert [part["type"] for part in message.parts or []] == ["photo"] * 3
    assert await Run.objects.acount() == 1


async def test_the_same_number_in_another_chat_is_another_message(everybody: None, world: World) -> None:
    await come(world, "text", "same_message_id_other_chat")
    assert sorted(await db.run(world.said)) == ["Is the 9 o'clock ferry running?", "my id is 101 too"]


async def test_a_lower_number_after_a_quiet_week_is_answered(everybody: None, world: World) -> None:
    await come(world, "poll_answer")
    await come(world, "update_id_lower_after_quiet_week")
    assert await db.run(world.said) == ["anyone there?"]
    assert (await Poller.objects.aget()).offset == 117200041


async def test_a_press_that_comes_again_is_acknowledged_once(everybody: None, world: World) -> None:
    await come(world, "callback")
    await come(world, "callback")
    assert [each["callback_query_id"] for each in world.server.of("answercallbackquery")] == ["4382000000000000001"]


# What else is so, of people who are known.

INES = "5987654321"


def prepare() -> None:
    """Before it comes: Ines has a history and a code that waits; something is to be said to her and to a group."""
    link = linking.active("telegram", BOT, INES)
    assert link is not None
    person = Actor("user", str(link.user_id))
    conversation = linking.conversation_of(link)
    log.append_message(conversation, NewMessage("assistant", person, "said before"))
    linking.create_code(link.user, "telegram", "both")
    for chat, text in ((INES, "news for Ines"), (OLD_GROUP, "news for the group")):
        outbox.write({"surface": "telegram", "account": BOT, "chat": chat}, [{"text": text, "proactive": True}])


def news() -> dict[str, tuple[str, str]]:
    """What was waiting: where it goes now, and how it stands."""
    rows = Delivery.objects.filter(payload__proactive=True)
    return {row.payload["text"]: (row.chat, row.status) for row in rows}


def says(text: str, *types: str) -> Callable[[World], None]:
    """The message has this text and parts of these types; its answer goes to the private chat, to no topic."""

    def look(world: World) -> None:
        assert world.said() == [text]
        assert [part["type"] for part in Message.objects.get(role="user").parts or []] == list(types)
        chat = str(world.last["message"]["chat"]["id"])
        assert {name: world.destination()[name] for name in ("chat", "topic")} == {"chat": chat, "topic": ""}

    return look


def tells(part: str, text: str, *types: str) -> Callable[[World], None]:
    """The person is told something too."""

    def look(world: World) -> None:
        says(text, *types)(world)
        assert part in "\n".join(world.told(world.last["message"]["chat"]["id"]))

    return look


def nothing_is_done(world: World) -> None:
    assert world.told() == []
    assert news() == {"news for Ines": (INES, "pending"), "news for the group": (OLD_GROUP, "pending")}
    assert set(SurfaceLink.objects.values_list("unreachable", flat=True)) == {""}
    assert Message.objects.filter(text="said before").exists()


def acknowledged(world: World) -> None:
    nothing_is_done(world)
    query = world.last["callback_query"]
    assert [each["callback_query_id"] for each in world.server.of("answercallbackquery")] == [query["id"]]
    assert not world.server.of("editmessagetext")


def shut_out(world: World) -> None:
    assert news() == {"news for Ines": (INES, "blocked"), "news for the group": (OLD_GROUP, "pending")}
    assert list(SurfaceLink.objects.exclude(unreachable="").values_list("external_id", flat=True)) == [INES]
    assert Message.objects.filter(text="said before").exists()
    assert world.told() == []


def moved(world: World) -> None:
    assert news() == {"news for Ines": (INES, "pending"), "news for the group": (NEW_GROUP, "pending")}


def located(world: World) -> None:
    message = Message.objects.get(role="user")
    assert message.parts
    assert (message.parts[0]["latitude"], message.parts[0]["longitude"]) == (60.3913, 5.3221)


def only_by_name(world: World) -> None:
    """Too large to be fetched: nobody asks for it, and the caption is answered."""
    tells("larger than the 20 MB", "[video v.mp4, too large to fetch] too big?", "video")(world)
    assert not world.server.of("getfile")


def not_linked(world: World) -> None:
    assert world.told(NEW_GROUP) == ["Abre un chat privado conmigo para conectar tu cuenta."]


MORE: dict[str, Callable[[World], None]] = {
    "text": says("Is the 9 o'clock ferry running?"),
    "deep_link_in_group": not_linked,
    "zwj_flags_combining": says("👩🏽‍🚒 🇳🇴 é क्षि 👋🏽‍"),
    "code_entities": says("see\nprint('x')\nand a_b"),
    "external_reply": says("[about what Harbor News said]\n> Pier 3 closed\nwhat does this mean?"),
    "forward_user": says("[forwarded from Kofi Mensah]\n> I will pay on Friday"),
    "forward_hidden_user": says("[forwarded from A. Nonymous]\n> ok"),
    "photo_no_caption": tells("I only know that you sent one", "[photo]", "photo"),
    "sticker": says("[sticker 👍]", "sticker"),
    "audio": tells("I only know that you sent one", "[audio pier.mp3]", "audio"),
    "video_caption": only_by_name,
    "animation_with_document": tells("I only know that you sent one", "[animation g.mp4]", "animation"),
    "contact_own": says("[contact Ines Falk, +15550100177]", "contact"),
    "location": located,
    "live_location_start": located,
    "story_forward": says("[story]", "story"),
    "paid_media": says("[paid media]", "paid_media"),
    "migrate_to": moved,
    "bot_blocked": shut_out,
    "callback": acknowledged,
    "callback_other_person_in_group": acknowledged,
    "callback_inline_no_message": acknowledged,
    **dict.fromkeys(
        [name for name, record in RECORDED.items() if record["expected"]["kind"] == "skip" and "callback" not in name],
        nothing_is_done,
    ),
}
