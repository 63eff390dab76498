"""Groups are left alone unless a setting says otherwise; and then what is said there stays there."""

import json
from typing import Any

import pytest

from crossmemory import dispatch, linking, log, memory, outbox
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Delivery, Message, Run, SurfaceLink
from crossmemory.surfaces import Outcome
from crossmemory.surfaces.telegram import groups, updates
from tests.intake.phone import BOT, arrive, body, claimed, edit, handled, told

pytestmark = pytest.mark.django_db(transaction=True)

GROUP = {"id": -1002345678901, "type": "supergroup", "title": "Dock Crew"}
OTHER = {"id": -1002399887766, "type": "supergroup", "title": "Forum", "is_forum": True}
OURS = {"message_id": 5, "from": {"id": int(BOT), "is_bot": True, "first_name": "Bot"}, "text": "Hi"}


@pytest.fixture
def listening(settings: Any) -> None:
    surface = settings.CROSSMEMORY["SURFACES"]["telegram"]
    options = {**surface["OPTIONS"], "groups": True, "username": "harbor_helper_bot"}
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "SURFACES": {**settings.CROSSMEMORY["SURFACES"], "telegram": {**surface, "OPTIONS": options}},
    }


def mention(text: str, **fields: Any) -> dict[str, Any]:
    """Said to the bot by its name."""
    offset = len(text[: text.index("@")].encode("utf-16-le")) // 2
    marks = [{"type": "mention", "offset": offset, "length": 18}]
    return body(text, **{"chat": GROUP, "entities": marks, **fields})


def test_without_the_setting_nothing_is_heard(link: SurfaceLink) -> None:
    row = handled(mention("@harbor_helper_bot hello"))
    assert (row.status, row.outcome) == ("skipped", "supergroup")
    assert not Message.objects.exists()


@pytest.mark.usefixtures("listening")
class TestListening:
    def test_only_what_is_said_to_us(self, link: SurfaceLink) -> None:
        assert arrive("just talking", chat=GROUP).outcome == "not addressed"
        assert arrive("the words @harbor_helper_bot without the mark", chat=GROUP).outcome == "not addressed"
        assert handled(mention("🛳 @harbor_helper_bot hello")).outcome == "message"
        assert arrive("and now?", chat=GROUP, reply_to_message=OURS).outcome == "message"
        assert arrive("/forget all", chat=GROUP).outcome == "command in a group"
        assert arrive("/new", chat=GROUP, reply_to_message=OURS).outcome == "command in a group"

    def test_bots_and_anonymous_senders_are_never_heard(self, link: SurfaceLink) -> None:
        bot = mention("@harbor_helper_bot ping")
        bot["from"] = {"id": 7000002222, "is_bot": True, "first_name": "PingBot"}
        assert handled(bot).outcome == "bot"
        assert handled(mention("@harbor_helper_bot ping", sender_chat=GROUP)).outcome == "anonymous sender"

    def test_strangers_get_no_answer_in_public(self, transactional_db: Any) -> None:
        row = handled(mention("@harbor_helper_bot who am I?", sender=7))
        assert (row.status, row.outcome) == ("skipped", "group stranger")
        assert not Delivery.objects.exists()

    def test_the_answer_goes_to_the_group_and_the_name_is_left_out(self, link: SurfaceLink) -> None:
        handled(mention("@harbor_helper_bot, is it raining?"))
        assert Message.objects.get().text == "is it raining?"
        destination = Run.objects.get().destination
        assert destination is not None
        assert (destination["chat"], destination["topic"]) == (str(GROUP["id"]), "")

    def test_a_group_neither_feeds_nor_receives_memory(self, user: Any, link: SurfaceLink) -> None:
        phone = linking.conversation_of(link)
        arrive("my secret is Miso")
        handled(mention("@harbor_helper_bot what is my secret?"))
        group = Conversation.objects.get(singleton=False)
        assert group.title == "Telegram: Dock Crew"
        assert (group.shared, group.reads) == (False, False)
        assert [m.text for m in memory.build_context(group).messages] == ["what is my secret?"]
        assert [m.text for m in memory.build_context(phone).messages] == ["my secret is Miso"]
        assert [m.text for m in memory.load_cross_context(user)] == ["my secret is Miso"]
        link.refresh_from_db()
        assert link.chat == "5987654321"  # not the group

    def test_two_people_in_one_group_know_nothing_of_each_other(self, other: Any, link: SurfaceLink) -> None:
        SurfaceLink.objects.create(
            user=other, surface="telegram", account=BOT, external_id="77", chat="77", status="active"
        )
        handled(mention("@harbor_helper_bot mine"))
        handled(mention("@harbor_helper_bot theirs", sender=77))
        handled(mention("@harbor_helper_bot mine again"))
        found = [list(c.messages.values_list("text", flat=True)) for c in Conversation.objects.filter(singleton=False)]
        assert sorted(found) == [["mine", "mine again"], ["theirs"]]

    def test_each_topic_is_a_conversation_and_the_general_one_has_no_number(self, link: SurfaceLink) -> None:
        topic = {"chat": OTHER, "message_thread_id": 55, "is_topic_message": True}
        handled(mention("@harbor_helper_bot in the topic", **topic))
        handled(mention("@harbor_helper_bot in the topic again", **topic))
        handled(mention("@harbor_helper_bot in general", chat=OTHER, message_thread_id=1, is_topic_message=True))
        arrive("a chain is no topic", chat=OTHER, message_thread_id=871, reply_to_message=OURS)
        assert [run.destination["topic"] for run in Run.objects.order_by("pk") if run.destination] == ["55", ""]
        assert Conversation.objects.filter(singleton=False).count() == 2

    def test_an_edit_in_a_group_reaches_the_groups_conversation(self, link: SurfaceLink) -> None:
        said = mention("@harbor_helper_bot frist")
        handled(said)
        edit(said, text="@harbor_helper_bot first")
        assert Message.objects.get().text == "first"

    def test_an_edit_after_the_answer_offers_nothing_that_a_group_has_not(self, link: SurfaceLink) -> None:
        """Commands and buttons are for private chats, and what was edited here is not answered again there."""
        said = mention("@harbor_helper_bot frist")
        handled(said)
        claimed()
        assert edit(said, text="@harbor_helper_bot first").outcome == "edited after the answer"
        assert Message.objects.get().text == "first"
        assert not Delivery.objects.exists()
        assert arrive("/again").outcome == "/again"
        assert "nothing to answer again" in told()[-1]

    @pytest.mark.parametrize("side", ["to", "from", "both", "reversed", "error"])
    def test_a_group_that_becomes_a_supergroup_is_followed(self, link: SurfaceLink, side: str) -> None:
        old = {"id": -4821093375, "type": "group", "title": "Dock Crew"}
        handled(mention("@harbor_helper_bot before", chat=old))
        place = {"surface": "telegram", "account": BOT, "chat": str(old["id"])}
        outbox.write(place, [{"text": "late"}])
        leaves = body(None, chat=old, migrate_to_chat_id=GROUP["id"])
        comes = body(None, chat=GROUP, migrate_from_chat_id=old["id"], message_id=1)
        messages = {"to": [leaves], "from": [comes], "both": [leaves, comes], "reversed": [comes, leaves]}
        if side == "error":
            (row,) = outbox.claim("telegram", BOT, "test", 1)
            dispatch.settle(row, Outcome("retry", error="upgraded", chat=str(GROUP["id"])))
        for message in messages.get(side, []):
            assert handled(message).outcome == "moved"
        handled(mention("@harbor_helper_bot after"))
        (group,) = Conversation.objects.filter(singleton=False)
        assert list(group.messages.values_list("text", flat=True)) == ["before", "after"]
        assert [row.chat for row in Delivery.objects.filter(payload__text="late")] == [str(GROUP["id"])]

    def test_a_button_in_a_group_does_nothing(self, link: SurfaceLink) -> None:
        query = {
            "id": "1", "from": {"id": 5987654321}, "data": "again:x",
            "message": {"message_id": 1, "date": 1, "chat": GROUP},
        }  # fmt: skip
        assert handled(query, "callback_query").status == "skipped"


def test_being_added_to_a_group_opens_nothing(link: SurfaceLink) -> None:
    log.append_message(
        linking.conversation_of(link), NewMessage("user", log.entries.Actor("user", str(link.user_id)), "mine")
    )
    change = {
        "chat": GROUP, "from": {"id": 7, "is_bot": False}, "date": 1, "new_chat_member": {"status": "member"},
    }  # fmt: skip
    assert handled(change, "my_chat_member").status == "skipped"
    assert told(7) == []
    assert told(GROUP["id"]) == []  # type: ignore[arg-type]


def test_ids_of_any_width_come_through(link: SurfaceLink) -> None:
    message = body(
        "@harbor_helper_bot x", chat=GROUP, message_thread_id=3895000077, is_topic_message=True,
        message_id=4294967301, entities=[{"type": "mention", "offset": 0, "length": 18}],
    )  # fmt: skip
    raw = json.dumps({"update_id": 1, "message": message}).encode()
    found = updates.parse(raw, groups.Bot("harbor_helper_bot", BOT, groups=True))
    assert found.about == "-1002345678901#3895000077/4294967301"
