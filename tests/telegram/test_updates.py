"""Every recorded update has its fate, and nothing that may come raises."""

import json
from pathlib import Path
from typing import Any

import pytest
import telegram.constants
from hypothesis import given
from hypothesis import strategies as st

from crossmemory.surfaces.telegram.content import CONTENT, PLUMBING, SERVICE
from crossmemory.surfaces.telegram.groups import Bot
from crossmemory.surfaces.telegram.updates import ASKED_FOR, KINDS, parse, sender_of

RECORDED = [
    json.loads(line) for line in (Path(__file__).parent / "fixtures" / "updates.jsonl").read_text().splitlines()
]
BOT = Bot("harbor_helper_bot")


def message(**fields: Any) -> bytes:
    person = {"id": 5987654321, "is_bot": False, "first_name": "Ines"}
    body = {"message_id": 1, "date": 1767225637, "from": person, "chat": {"id": 5987654321, "type": "private"}}
    return json.dumps({"update_id": 1, "message": {**body, **fields}}).encode()


@pytest.mark.parametrize("record", RECORDED, ids=lambda record: record["name"])
def test_a_recorded_update_is_understood(record: Any) -> None:
    found = parse(json.dumps(record["update"]).encode(), BOT)
    assert {
        name: found.whole if name == "text" and found.kind == "text" else getattr(found, name)
        for name in record["expected"]
    } == record["expected"]
    assert found.kind != "text" or found.whole.strip()
    assert found.kind != "skip" or found.reason


def test_every_kind_of_update_that_the_library_knows_has_its_row() -> None:
    known = {str(kind.value) for kind in telegram.constants.UpdateType}
    assert known == set(telegram.Update.ALL_TYPES)
    assert known - set(KINDS) == set()
    assert set(ASKED_FOR) <= set(KINDS)


def test_every_field_of_a_message_that_the_library_knows_has_its_row() -> None:
    slots = {slot for each in telegram.Message.__mro__ for slot in getattr(each, "__slots__", ())}
    known = {slot for slot in slots if not slot.startswith("_")} - {"api_kwargs", "from_user"} | {"from"}
    assert known - set(CONTENT) == set()


def test_what_the_library_calls_media_is_content() -> None:
    """A kind of content that says something is never mistaken for a service message."""
    media = {
        "animation", "audio", "checklist", "contact", "dice", "document", "game", "giveaway", "giveaway_winners",
        "invoice", "live_photo", "location", "paid_media", "photo", "poll", "sticker", "story", "venue", "video",
        "video_note", "voice",
    }  # fmt: skip
    types = {str(kind.value) for kind in telegram.constants.MessageType}
    assert media <= types
    assert {kind for kind in media if not callable(CONTENT[kind])} == set()
    said_beside = {
        "business_connection_id", "effect_id", "has_protected_content", "reply_to_story", "sender_boost_count",
        "sender_business_bot", "suggested_post_info", "text",
    }  # fmt: skip
    happened = types - media - said_beside - {"command"}
    assert {kind for kind in happened if CONTENT[kind] != SERVICE} == set()
    assert {kind for kind in said_beside if CONTENT[kind] != PLUMBING} == set()


@pytest.mark.parametrize("kind", [kind for kind, row in CONTENT.items() if callable(row)])
def test_content_without_text_is_never_empty(kind: str) -> None:
    found = parse(message(**{kind: {}}), BOT)
    assert found.kind == "text"
    assert found.whole.startswith("[")
    assert found.parts is not None
    assert found.parts[0]["words"]


@pytest.mark.parametrize("kind", [kind for kind, row in CONTENT.items() if row == SERVICE])
def test_what_happened_in_a_chat_is_nobodys_words(kind: str) -> None:
    assert parse(message(**{kind: {}}), BOT).kind == "skip"
    assert parse(message(unheard_of_kind={}), BOT).reason == "service unheard_of_kind"


def test_a_shared_contact_proves_nothing() -> None:
    for contact in ({"phone_number": "+1", "first_name": "Ines", "user_id": 5987654321}, {"phone_number": "+1"}):
        for forward in ({}, {"forward_origin": {"type": "user", "sender_user": {"id": 5987654321}}}):
            found = parse(message(contact=contact, **forward), BOT)
            assert found.sender == "5987654321"
            assert "contact" in found.whole


@pytest.mark.parametrize(
    ("fields", "topic"),
    [
        ({}, ""),
        ({"message_thread_id": 871}, ""),
        ({"message_thread_id": 1, "is_topic_message": True}, ""),
        ({"message_thread_id": 55, "is_topic_message": True}, "55"),
        ({"message_thread_id": 3895000077, "is_topic_message": True}, "3895000077"),
        ({"message_thread_id": "55", "is_topic_message": True}, ""),
    ],
)
def test_a_thread_is_a_topic_only_where_the_message_says_so(fields: Any, topic: str) -> None:
    assert parse(message(text="x", **fields), BOT).topic == topic
    assert parse(message(text="/help", **fields), BOT).topic == topic


REPLIES: list[tuple[dict[str, Any], str, str]] = [
    ({"message_id": 7, "from": {"id": 1, "is_bot": True}, "text": "Pier 3 is closed"}, "Pier 3 is closed", "you"),
    ({"message_id": 7, "from": {"id": 5987654321}, "text": "mine"}, "mine", "I"),
    ({"message_id": 7, "from": {"id": 2, "first_name": "Kofi"}, "voice": {"duration": 4}}, "[voice 0:04]", "Kofi"),
    ({"message_id": 7, "date": 0}, "", ""),
    ("nonsense", "", ""),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("replied", "quote", "by"), REPLIES)
def test_what_a_message_answers_is_its_context(replied: Any, quote: str, by: str) -> None:
    found = parse(message(text="and now?", reply_to_message=replied), BOT)
    assert (found.quote, found.quote_by) == (quote, by)
    assert found.text == "and now?"


def test_a_quote_of_a_part_counts_more_than_the_whole() -> None:
    replied = {"message_id": 7, "from": {"id": 1, "is_bot": True}, "text": "Pier 3 is closed. Pier 4 is open."}
    found = parse(message(text="why?", reply_to_message=replied, quote={"text": "Pier 4 is open."}), BOT)
    assert found.whole == "[about what you said]\n> Pier 4 is open.\nwhy?"


def test_reactions_are_kept_and_no_more() -> None:
    person = {"id": 5987654321, "first_name": "Ines"}
    change = {
        "chat": {"id": 5987654321, "type": "private"}, "user": person, "message_id": 5, "date": 1,
        "old_reaction": [], "new_reaction": [{"type": "emoji", "emoji": "👍"}, {"type": "paid"}],
    }  # fmt: skip
    found = parse(json.dumps({"update_id": 1, "message_reaction": change}).encode(), BOT)
    assert (found.kind, found.text, found.message_id) == ("reaction", "👍 other", "5")
    taken_back = {**change, "new_reaction": []}
    assert parse(json.dumps({"update_id": 1, "message_reaction": taken_back}).encode(), BOT).text == ""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"message": {"chat": {"id": 7, "type": "private"}, "message_id": 12, "date": 0}}, ("button", "7", "a:b")),
        ({"inline_message_id": "BAAAAtest"}, ("skip", "", "")),
        ({"message": {"chat": {"id": -7, "type": "supergroup"}, "message_id": 12, "date": 1}}, ("skip", "", "")),
        ({"message": None}, ("skip", "", "")),
    ],
)
def test_a_press_needs_a_private_chat_and_not_a_message_that_can_be_read(query: Any, expected: Any) -> None:
    body = {"id": "771", "from": {"id": 7, "is_bot": False}, "chat_instance": "-42", "data": "a:b", **query}
    found = parse(json.dumps({"update_id": 1, "callback_query": body}).encode(), BOT)
    assert (found.kind, found.chat, found.text) == expected
    assert found.sender == "7"


def test_only_private_chats_with_a_person_lead_to_a_turn() -> None:
    turns = [r for r in RECORDED if r["expected"]["kind"] == "text"]
    assert all(r["update"]["message"]["chat"]["type"] == "private" for r in turns)
    assert not any(r["expected"].get("sender") in ("1087968824", "777000", "136817688") for r in RECORDED)


def test_ids_beyond_32_bits_come_through_unchanged() -> None:
    found = parse(message(message_id=4294967301), BOT)
    assert (found.sender, found.chat) == ("5987654321", "5987654321")
    assert parse(message(text="x", message_id=4294967301), BOT).message_id == "4294967301"


@pytest.mark.parametrize(
    ("text", "command", "argument"),
    [
        ("/start", "start", ""),
        ("/start A1_-b", "start", "A1_-b"),
        ("/START A1b2", "start", "A1b2"),
        ("/start@harbor_helper_bot A1b2", "start", "A1b2"),
        ("/start@Harbor_Helper_Bot A1b2", "start", "A1b2"),
        ("/start\nA1b2 ", "start", "A1b2"),
        ("/Nuevo", "nuevo", ""),
    ],
)
def test_commands(text: str, command: str, argument: str) -> None:
    found = parse(message(text=text), BOT)
    assert (found.kind, found.command, found.text) == ("command", command, argument)


@pytest.mark.parametrize("text", ["/usr/bin is a path", "/ start", "see /start", "/a-b", "//"])
def test_what_only_looks_like_a_command_is_text(text: str) -> None:
    assert parse(message(text=text), BOT).kind == "text"


def test_a_command_for_another_bot_is_skipped() -> None:
    assert parse(message(text="/start@other_bot x"), BOT).reason == "for another bot"


def test_a_caption_that_looks_like_a_command_is_text() -> None:
    found = parse(message(photo=[{"width": 1, "height": 1}], caption="/start x"), BOT)
    assert (found.kind, found.whole) == ("text", "[photo] /start x")


def test_a_date_of_zero_is_no_time() -> None:
    assert parse(message(text="x", date=0), BOT).sent_at is None
    assert parse(message(text="x", date=2**63), BOT).sent_at is None


@pytest.mark.parametrize("raw", [b"", b"null", b"[]", b"7", b"{", b"\xff", b'{"update_id": 1}', b"[" * 100_000])
def test_what_is_no_update_is_skipped(raw: bytes) -> None:
    assert parse(raw, BOT).kind == "skip"


def test_lone_surrogates_and_nul_come_through_to_the_log_which_cleans_them() -> None:
    assert parse(message(text="a\ud83c\x00"), BOT).text == "a\ud83c\x00"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "from", "chat", "text", "photo", "voice", "sticker", "poll", "contact", "location", "document", "quote", "date",
    "forward_origin", "message_id", "new_chat_member", "sender_chat", "caption",
]  # fmt: skip


@given(st.sampled_from([*KINDS, "future_kind"]), st.dictionaries(st.sampled_from(FIELDS), JSON) | JSON)
def test_no_shape_raises(kind: str, body: Any) -> None:
    update = {"update_id": 1, kind: body}
    parse(json.dumps(update).encode(), BOT)
    sender_of(update)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_shape_of_a_private_message_raises(body: dict[str, Any]) -> None:
    raw = json.loads(message())
    raw["message"].update({name: value for name, value in body.items() if name not in ("from", "chat")})
    found = parse(json.dumps(raw).encode(), BOT)
    assert found.kind != "text" or found.whole.strip()
