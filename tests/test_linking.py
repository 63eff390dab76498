"""Who is who: codes, links, and all that people might try with them."""

import asyncio
import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from crossmemory import db, erase, inbox, intake, linking, log, outbox
from crossmemory.conf import settings as app
from crossmemory.events import Actor
from crossmemory.exceptions import LinkError
from crossmemory.linking import codes
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Delivery, InboundUpdate, LinkCode, Owner, Preference, SurfaceLink

BOT = "7000000001"
PERSON = "5987654321"

pytestmark = pytest.mark.django_db(transaction=True)


def use(code: str, sender: str = PERSON, **more: Any) -> SurfaceLink:
    return linking.use_code("telegram", BOT, code, sender, sender, "Ines", "es", **more)


def linked(user: Any, sender: str = PERSON, sharing: str = "both") -> SurfaceLink:
    code, _ = linking.create_code(user, "telegram", sharing)
    return linking.confirm(user, use(code, sender).uid)


def guess(sender: str, code: str = "nonsense") -> str:
    """A guess as intake records it."""
    name = str(uuid.uuid4())
    inbox.store("telegram", BOT, name, "message", b"{}", sender)
    row = InboundUpdate.objects.get(external_id=name)
    try:
        use(code, sender)
    except LinkError as error:
        inbox.done(row, error.code)
        return error.code
    return ""


def test_a_code_fits_a_deep_link_and_only_its_hash_is_stored(user: Any) -> None:
    for _ in range(20):
        code, row = linking.create_code(user, "telegram", "both")
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", code)
        assert code not in str(vars(row))
    assert LinkCode.objects.count() == 1  # earlier ones are void


def test_a_code_makes_a_link_that_waits_for_its_person(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "reads")
    link = use(code)
    assert (link.status, link.name, link.sharing, link.chat) == ("pending", "Ines", "reads", PERSON)
    assert linking.active("telegram", BOT, PERSON) is None
    assert linking.accounts(user) == [link]
    confirmed = linking.confirm(user, link.uid)
    assert linking.active("telegram", BOT, PERSON) == confirmed == link


@pytest.mark.parametrize(
    ("sharing", "shared", "reads"), [("both", True, True), ("reads", False, True), ("separate", False, False)]
)
def test_sharing_sets_what_the_conversation_feeds_and_reads(user: Any, sharing: str, shared: bool, reads: bool) -> None:
    link = linked(user, sharing=sharing)
    conversation = linking.conversation_of(link)
    assert (conversation.title, conversation.singleton) == ("[Telegram]", True)
    assert (conversation.shared, conversation.reads) == (shared, reads)
    linking.set_sharing(user, link.uid, "both")
    conversation.refresh_from_db()
    assert (conversation.shared, conversation.reads) == (True, True)


def test_sharing_chosen_anew_reaches_what_was_said_before(user: Any) -> None:
    link = linked(user)
    conversation = linking.conversation_of(link)
    log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), "hello"))
    linking.set_sharing(user, link.uid, "separate")
    assert list(conversation.messages.values_list("shared", flat=True)) == [False]


EXCHANGES = [
    (True, True, "both"),
    (False, True, "reads"),
    (True, False, "separate"),
    (False, False, "separate"),
]


def exchanged(link: SurfaceLink) -> tuple[str, bool, bool]:
    """What the link and its conversation say, as the database has them."""
    link.refresh_from_db()
    conversation = linking.conversation_of(link)
    return link.sharing, conversation.shared, conversation.reads


AGREE = {"both": ("both", True, True), "reads": ("reads", False, True), "separate": ("separate", False, False)}


@pytest.mark.parametrize("before", ["both", "reads", "separate"])
@pytest.mark.parametrize(("shared", "reads", "sharing"), EXCHANGES)
def test_a_surfaces_conversation_changes_with_its_account(
    user: Any, before: str, shared: bool, reads: bool, sharing: str
) -> None:
    link = linked(user, sharing=before)
    conversation = linking.conversation_of(link)
    log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), "hello"))
    linking.set_exchange(conversation, shared=shared, reads=reads)
    assert exchanged(link) == AGREE[sharing]
    assert (conversation.shared, conversation.reads) == AGREE[sharing][1:]
    assert conversation.messages.get().shared == AGREE[sharing][1]


@pytest.mark.parametrize("sharing", ["both", "reads", "separate"])
def test_an_account_changes_with_every_conversation_of_its_surface(user: Any, sharing: str) -> None:
    link = linked(user, sharing="reads")
    older = log.get_or_create_singleton(Owner(user.pk, "", "an assistant of before"), "telegram", "[Telegram]")
    linking.set_sharing(user, link.uid, sharing)
    older.refresh_from_db()
    assert exchanged(link) == AGREE[sharing] == (link.sharing, older.shared, older.reads)


def test_two_bots_of_one_surface_exchange_the_same(user: Any) -> None:
    first = linked(user)
    code, _ = linking.create_code(user, "telegram", "separate")
    second = linking.use_code("telegram", "7000000002", code, PERSON, PERSON)
    linking.confirm(user, second.uid)
    assert exchanged(first) == exchanged(second) == AGREE["separate"]
    linking.set_sharing(user, first.uid, "both")
    assert exchanged(first) == exchanged(second) == AGREE["both"]


def test_an_account_that_waits_changes_nothing_until_it_is_confirmed(user: Any) -> None:
    first = linked(user)
    code, _ = linking.create_code(user, "telegram", "both")
    waiting = use(code, "7345678901")
    linking.set_sharing(user, waiting.uid, "separate")
    assert exchanged(first) == AGREE["both"]
    linking.confirm(user, waiting.uid)
    assert exchanged(waiting) == AGREE["separate"]


def test_a_conversation_made_anew_begins_as_its_account_is_shared(user: Any) -> None:
    link = linked(user)
    earlier = linking.active("telegram", BOT, PERSON)
    assert earlier is not None
    erase.conversation(linking.conversation_of(link))
    linking.set_sharing(user, link.uid, "separate")
    assert linking.conversation_of(earlier).shared is False  # though this row was read before the change
    assert exchanged(link) == AGREE["separate"]


async def test_whoever_changes_it_at_the_same_time_they_agree(user: Any) -> None:
    link = await db.run(linked, user)
    for _ in range(5):
        phone = await db.run(linking.conversation_of, link)
        await asyncio.gather(
            db.run(linking.set_sharing, user, link.uid, "both"),
            db.run(linking.set_exchange, phone, shared=False, reads=False),
            db.run(linking.set_sharing, user, link.uid, "reads"),
            db.run(linking.set_exchange, phone, shared=True, reads=True),
        )
        found = await db.run(exchanged, link)
        assert found == AGREE[found[0]]


def test_changes_of_one_thing_each_are_both_made(user: Any) -> None:
    """Two devices that saw the same before: each changes what it names, and the rest as it is by then."""
    link = linked(user)
    seen = [linking.conversation_of(link) for _ in range(2)]
    linking.set_exchange(seen[0], reads=False)
    linking.set_exchange(seen[1], shared=False)
    assert exchanged(link) == AGREE["separate"]
    chat = log.create(Owner(user.pk), "web")
    seen = [Conversation.objects.get(pk=chat.pk) for _ in range(2)]
    linking.set_exchange(seen[0], reads=False)
    linking.set_exchange(seen[1], shared=False)
    chat.refresh_from_db()
    assert (chat.shared, chat.reads) == (False, False)


def test_nobody_elses_account_changes(user: Any, other: Any) -> None:
    mine, theirs = linked(user), linked(other, "7345678901")
    linking.set_exchange(linking.conversation_of(mine), shared=False, reads=False)
    assert exchanged(theirs) == AGREE["both"]


def test_a_conversation_without_an_account_changes_alone(user: Any) -> None:
    chat = log.create(Owner(user.pk), "web")
    linking.set_exchange(chat, shared=True, reads=False)
    assert (chat.shared, chat.reads) == (True, False)
    link = linked(user)
    phone = linking.conversation_of(link)
    intake.unlink(user, link.uid)
    linking.set_exchange(phone, shared=False, reads=True)
    phone.refresh_from_db()
    assert (phone.shared, phone.reads) == (False, True)
    link.refresh_from_db()
    assert link.sharing == "both"  # as it was when it ended


def test_the_outside_account_is_told_in_its_language_once_it_is_connected(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    link = use(code)
    assert not Delivery.objects.exists()
    linking.confirm(user, link.uid)
    (notice,) = Delivery.objects.all()
    assert (notice.chat, notice.account, notice.surface) == (PERSON, BOT, "telegram")
    assert notice.conversation == linking.conversation_of(link)
    assert Preference.objects.get(user=user).language == "es"


def test_a_code_is_used_once(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    use(code)
    with pytest.raises(linking.WrongCode):
        use(code, "7345678901")
    assert linking.active("telegram", BOT, "7345678901") is None


def test_the_same_code_from_the_same_account_again_gives_the_same_link(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    assert use(code) == use(code)


def test_an_earlier_code_is_void(user: Any) -> None:
    first, _ = linking.create_code(user, "telegram", "both")
    linking.create_code(user, "telegram", "both")
    with pytest.raises(linking.WrongCode):
        use(first)


def test_an_expired_code_is_refused(user: Any) -> None:
    code, row = linking.create_code(user, "telegram", "both")
    LinkCode.objects.filter(pk=row.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    with pytest.raises(linking.ExpiredCode):
        use(code)
    assert not SurfaceLink.objects.exists()


@pytest.mark.parametrize("code", ["", "a" * 65, "abc.def", "Z2l2==", "two words", "\x00"])
def test_what_cannot_be_a_code_is_refused(user: Any, code: str) -> None:
    linking.create_code(user, "telegram", "both")
    with pytest.raises(linking.WrongCode):
        use(code)


def test_a_code_that_was_cut_links_nobody_and_stays_good(user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "LINK_GUESSES": 1000}
    code, _ = linking.create_code(user, "telegram", "both")
    for cut in [*(code[:end] for end in range(1, len(code))), code[1:], f"{code}A", code.lower(), f"{code}=="]:
        with pytest.raises(linking.WrongCode):
            use(cut)
    assert not SurfaceLink.objects.exists()
    assert use(code).status == "pending"


def test_a_code_of_one_surface_is_none_of_another(user: Any) -> None:
    code, _ = linking.create_code(user, "web", "both")
    with pytest.raises(linking.WrongCode):
        use(code)


def test_groups_and_nobody_are_never_linked(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    with pytest.raises(linking.NotPrivate):
        use(code, private=False)
    with pytest.raises(linking.NotPrivate):
        use(code, sender="")
    assert use(code).status == "pending"  # the code is not spent by that


def test_guesses_are_limited_per_sender(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    assert [guess(PERSON) for _ in range(app.LINK_GUESSES)] == ["link_wrong"] * app.LINK_GUESSES
    assert guess(PERSON, code) == "link_guesses"
    assert guess("7345678901", code) == ""


def test_guesses_are_limited_over_all_senders(user: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "_GUESSES_OVERALL", 2)
    for number in range(2 * app.LINK_GUESSES):
        assert guess(str(number)) == "link_wrong"
    assert guess("77") == "link_guesses"


def test_somebody_elses_link_can_be_neither_confirmed_nor_seen_nor_ended(user: Any, other: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    link = use(code)
    for act in (
        lambda: linking.confirm(other, link.uid),
        lambda: linking.refuse(other, link.uid),
        lambda: linking.unlink(other, link.uid),
        lambda: linking.set_sharing(other, link.uid, "both"),
    ):
        with pytest.raises(linking.NoSuchLink):
            act()
    assert linking.accounts(other) == []
    linking.confirm(user, link.uid)


def test_a_refused_account_is_gone(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    link = use(code)
    linking.refuse(user, link.uid)
    assert linking.accounts(user) == []
    with pytest.raises(linking.NoSuchLink):
        linking.confirm(user, link.uid)


def test_an_account_that_moves_ends_the_old_link_only_when_it_is_confirmed(
    user: Any, other: Any, caplog: pytest.LogCaptureFixture
) -> None:
    old = linked(user)
    conversation = linking.conversation_of(old)
    message = log.append_message(conversation, NewMessage("user", Actor("user", str(user.pk)), "mine"))
    place = {"surface": "telegram", "account": BOT, "chat": PERSON}
    outbox.write(place, [{"text": "for ana"}], conversation=conversation)
    code, _ = linking.create_code(other, "telegram", "both")
    link = use(code)
    assert linking.active("telegram", BOT, PERSON) == old
    linking.confirm(other, link.uid)
    assert linking.active("telegram", BOT, PERSON) == link
    old.refresh_from_db()
    assert old.status == "ended"
    assert "is now connected to user" in caplog.text
    assert Delivery.objects.get(payload__text="for ana").status == "cancelled"
    theirs = linking.conversation_of(link)
    assert theirs != conversation
    assert not theirs.messages.filter(pk=message.id).exists()


def test_a_person_who_links_a_second_account_replaces_the_first(user: Any) -> None:
    first, second = linked(user), linked(user, "7345678901")
    first.refresh_from_db()
    assert first.status == "ended"
    assert linking.accounts(user) == [second]


def test_unlinking_cancels_what_waits_and_keeps_or_removes_history(user: Any) -> None:
    link = linked(user)
    conversation = linking.conversation_of(link)
    outbox.write({"surface": "telegram", "account": BOT, "chat": PERSON}, [{"text": "late"}], conversation=conversation)
    intake.unlink(user, link.uid)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"cancelled"}
    assert Conversation.objects.filter(pk=conversation.pk).exists()
    again = linked(user)
    assert linking.conversation_of(again) == conversation
    intake.unlink(user, again.uid, "remove")
    assert not Conversation.objects.filter(pk=conversation.pk).exists()
    assert linking.active("telegram", BOT, PERSON) is None


def test_a_pending_link_ends_by_itself(user: Any) -> None:
    code, _ = linking.create_code(user, "telegram", "both")
    link = use(code)
    SurfaceLink.objects.filter(pk=link.pk).update(created_at=timezone.now() - timedelta(days=2))
    assert linking.accounts(user) == []
    with pytest.raises(linking.NoSuchLink):
        linking.confirm(user, link.uid)


def test_sharing_and_surface_must_exist(user: Any) -> None:
    with pytest.raises(LinkError):
        linking.create_code(user, "telegram", "everything")
    with pytest.raises(LinkError):
        linking.create_code(user, "pigeon", "both")


@pytest.mark.parametrize(("code", "language"), [("es", "es"), ("es-mx", "es"), ("pt-br", "en"), ("", "en")])
def test_a_platforms_language_becomes_one_of_the_sites(code: str, language: str) -> None:
    assert linking.language_of(code) == language


def test_deleting_a_user_takes_links_and_codes_along(user: Any) -> None:
    linked(user)
    linking.create_code(user, "telegram", "both")
    get_user_model().objects.get(pk=user.pk).delete()
    assert not SurfaceLink.objects.exists()
    assert not LinkCode.objects.exists()
    assert not Conversation.objects.of(Owner(user.pk)).exists()
