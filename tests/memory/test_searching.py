"""Searching beyond the window: what is found, what never is, and that the index is as current as the rows."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AbstractBaseUser
from django.core.checks import run_checks
from django.db import connection, transaction
from django.utils import timezone

from crossmemory import erase, log, memory
from crossmemory.events import Actor
from crossmemory.memory.searching import index, postgresql, ranking, sqlite, words
from crossmemory.memory.searching.scope import Scope
from crossmemory.models import Conversation, Message, Owner, Preference
from crossmemory.models.guard import log_writes

pytestmark = pytest.mark.django_db


def said(user: Any, *texts: str, surface: str = "telegram", **more: Any) -> list[int]:
    """Store what the user said; returns the keys."""
    return [memory.record(user, surface, "user", text, **more).id for text in texts]


def texts(user: Any, query: str, **more: Any) -> list[str]:
    return [found.message.text for found in memory.search(user, query, **more)]


def first(user: Any, query: str, **more: Any) -> str | None:
    return next(iter(texts(user, query, **more)), None)


def apart(user: Any, *all_texts: str) -> None:
    """Each text in a conversation of its own, so that none is another's neighbour."""
    for text in all_texts:
        said(user, text, surface="web", conversation=log.create(Owner.of(user), "web"))


# What is found


def test_a_word_is_found_with_its_surface_time_and_neighbours(user: Any) -> None:
    keys = said(user, "good morning", "the dentist moved us to Thursday", "bring the forms", "bye")
    [found, *_] = memory.search(user, "dentist")
    assert (found.message.id, found.message.surface, found.message.label) == (keys[1], "telegram", "Telegram")
    assert abs(found.message.at - timezone.now()) < timedelta(minutes=5)
    assert [message.id for message in (*found.before, *found.after)] == [keys[0], keys[2]]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("the dentists of Bristol", "Dentist?"),
        ("we painted the fence", "painting"),
        ("she was running late", "run"),
        ("mañana vemos al médico", "MANANA medico"),
        ("reunion en la oficina", "¿reunión?"),
        ("canción nueva para ti", "canciones"),
        ("hablamos ayer del viaje", "hablar"),
        ("I met Katherine at the harbour", "Kathrine"),
        ("I met Katherine at the harbour", "Cathrine"),
        ("the appointment is at nine", "apointment"),
        ("the appointment is at nine", "appiontment"),
        ("la cita con el odontólogo", "odontologo"),
        ("la cita con el odontólogo", "odnotologo"),
        ("our dishwasher broke", "dishwash"),
        ("今天的天气很好", "天气"),
        ("東京タワーへ行きました", "タワー"),
        ("초등학교에서 만나요", "학교"),
        ("พรุ่งนี้ไปหาหมอ", "หมอ"),
        ("Привет из Москвы", "МОСКВЫ"),
        ("the code is 4471", "4471"),
        ("who are you", "who are you"),
    ],
)
def test_words_are_found_in_any_form(user: Any, text: str, query: str) -> None:
    apart(user, "nothing of the kind here", text, "algo completamente distinto")
    assert first(user, query) == text


def test_a_number_is_never_taken_for_another(user: Any) -> None:
    said(user, "the code is 4471")
    assert texts(user, "4472") == []


def test_the_better_and_then_the_newer_comes_first(user: Any) -> None:
    apart(user, "the garden is blue", "the garden door is green", "the garden is red")
    assert texts(user, "garden door") == ["the garden door is green", "the garden is red", "the garden is blue"]


def test_the_answer_beside_a_question_is_found_with_it(user: Any) -> None:
    said(user, "what did you paint?", "a sunrise over the lake", "nice")
    assert "a sunrise over the lake" in texts(user, "painting")


def test_neighbours_stand_in_the_same_conversation(user: Any) -> None:
    one, other = (log.create(Owner.of(user), "web") for _ in range(2))
    said(user, "the zebra", surface="web", conversation=one)
    said(user, "unrelated", surface="web", conversation=other)
    said(user, "after it", surface="web", conversation=one)
    [found, *_] = memory.search(user, "zebra")
    assert (found.before, [message.text for message in found.after]) == ((), ["after it"])
    assert "unrelated" not in texts(user, "zebra")


def test_a_result_far_down_has_its_neighbours_too(user: Any) -> None:
    """More results than messages that give to their neighbours."""
    conversation = log.create(Owner.of(user), "web")
    said(user, *(f"zebra {number}" for number in range(70)), surface="web", conversation=conversation)
    found = memory.search(user, "zebra", limit=5, offset=64)
    assert len(found) == 5
    for each in found:
        place = int(each.message.text.split()[1])
        around = [int(message.text.split()[1]) for message in (*each.before, *each.after)]
        assert around == [near for near in (place - 1, place + 1) if 0 <= near < 70]


def test_limits_offsets_surfaces_and_times(user: Any) -> None:
    said(user, *(f"apple {number}" for number in range(5)))
    apart(user, "apple on the web")
    assert len(texts(user, "apple", limit=3)) == 3
    assert texts(user, "apple", limit=3) + texts(user, "apple", limit=50, offset=3) == texts(user, "apple")
    assert texts(user, "apple", limit=0) == texts(user, "apple", limit=-4) == []
    assert texts(user, "apple", surfaces=["web"]) == ["apple on the web"]
    assert texts(user, "apple", surfaces=[]) == []
    now = timezone.now()
    assert texts(user, "apple", since=now + timedelta(hours=1)) == texts(user, "apple", until=now - timedelta(1)) == []
    assert len(texts(user, "apple", since=now - timedelta(hours=1), until=now + timedelta(hours=1))) == 6


@pytest.mark.parametrize(
    "query",
    [
        "",
        "   ",
        "?!… 🎉",
        "'",
        '"',
        "zebra'",
        '"zebra',
        "zebra' OR 1=1 --",
        'zebra" OR owner : "x',
        "zebra* AND NOT (NEAR(zebra, 2))",
        "text : zebra ^ - zebra",
        "zebra & ! | <-> ( ) :* \\ %s %(x)s {0} {zebra}",
        "zebra\x00\ud800",
        "zebra " + "x" * 100_000,
        "zebra " + "天" * 10_000,
        "zebra " + " ".join(f"w{number}" for number in range(5_000)),
        "ﷺ" * 500 + " zebra",
        "zebra \u0300\u0301\u202e",
        "_zebra_ zebra__",
        "zebra ٣٤ ² ½ Ⅷ ǅ ß İ",
    ],
)
def test_no_question_breaks_it(user: Any, query: str) -> None:
    said(user, "a zebra crossing")
    found = texts(user, query)
    assert found == (["a zebra crossing"] if "zebra" in query else [])


@pytest.mark.parametrize(
    "text", ["x" * 60_000, "天" * 20_000, " ".join(f"w{n}" for n in range(10_000)), "a\x00b", "🎉", "é" * 300]
)
def test_no_message_breaks_it(user: Any, text: str) -> None:
    [key] = said(user, text[:16_000] if "天" in text else text)
    assert Message.objects.filter(pk=key).exists()
    said(user, "zebra")
    assert first(user, "zebra") == "zebra"


# What never is


def test_nobody_finds_the_words_of_others(user: Any, other: Any, settings: Any) -> None:
    said(user, "the secret zebra")
    said(user, "the poets zebra", agent="poet")
    assert texts(other, "zebra") == texts(other, "zebra", agent=None, remembered=False) == []
    assert texts(other, "zebar") == []  # a slip does not lead there either
    assert texts(user, "zebra") == ["the secret zebra"]
    assert texts(user, "zebra", agent="poet") == ["the poets zebra"]
    assert sorted(texts(user, "zebra", agent=None)) == ["the poets zebra", "the secret zebra"]
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "TENANT": "tests.memory.test_searching.elsewhere"}
    assert texts(user, "zebra", agent=None, remembered=False) == []


def elsewhere(user: AbstractBaseUser) -> str:
    return "elsewhere"


def test_nobody_means_nobody() -> None:
    from django.contrib.auth.models import AnonymousUser

    with pytest.raises(ValueError, match="belongs to somebody"):
        memory.search(AnonymousUser(), "zebra")  # type: ignore[arg-type]


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's key of a person is the person in full")
def test_keys_that_collide_mix_nobody(user: Any, other: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On PostgreSQL the index's key of a person is a short hash; the rows' owners decide."""
    said(user, "the secret zebra")
    theirs = postgresql._key(connection, Scope(Owner.of(user)))
    monkeypatch.setattr(postgresql, "_key", lambda connection, scope: theirs)
    assert texts(other, "zebra") == texts(other, "zebar") == []
    assert texts(user, "zebra") == ["the secret zebra"]


def test_what_is_kept_out_of_memory_is_not_remembered(user: Any) -> None:
    private = log.create(Owner.of(user), "web", shared=False)
    said(user, "the private zebra", surface="web", conversation=private)
    said(user, "the shared zebra")
    assert texts(user, "zebra") == ["the shared zebra"]
    assert sorted(texts(user, "zebra", remembered=False)) == ["the private zebra", "the shared zebra"]
    log.set_shared(private, True)
    assert len(texts(user, "zebra")) == 2
    log.set_shared(private, False)
    assert len(texts(user, "zebra")) == 1


def test_a_fresh_start_everywhere_is_not_searched_behind(user: Any) -> None:
    said(user, "the old zebra")
    log.open_afresh_everywhere(memory.get_singleton(user, "telegram"), Actor("user", str(user.pk)))
    said(user, "the new zebra")
    assert texts(user, "zebra") == ["the new zebra"]
    assert len(texts(user, "zebra", remembered=False)) == 2


def test_in_a_conversation_the_assistant_finds_what_that_may_know(user: Any) -> None:
    owner = Owner.of(user)
    private = log.create(owner, "web", shared=False)
    group = log.create(owner, "telegram", shared=False, reads=False)
    said(user, "the shared zebra")
    said(user, "the private zebra", surface="web", conversation=private)
    said(user, "the public zebra", conversation=group)

    def here(conversation: Conversation, query: str = "zebra") -> list[str]:
        found = index_find(Scope(owner, conversation=conversation), query)
        return sorted(each.message.text for each in found)

    assert here(memory.get_singleton(user, "telegram")) == ["the shared zebra"]
    assert here(private) == ["the private zebra", "the shared zebra"]
    assert here(group) == ["the public zebra"]
    log.open_afresh(group, Actor("user", str(user.pk)))
    assert here(group) == []


def test_what_the_person_set_aside_in_a_conversation_is_not_found_in_it(user: Any) -> None:
    owner = Owner.of(user)
    phone, web, here = memory.get_singleton(user, "telegram"), log.create(owner, "web"), log.create(owner, "web")
    [on_the_phone] = said(user, "the zebra on the phone")
    [on_the_web] = said(user, "the zebra on the web", surface="web", conversation=web)
    said(user, "the zebra here", surface="web", conversation=here)

    def found() -> list[str]:
        scope = Scope(owner, conversation=Conversation.objects.get(pk=here.pk))
        return sorted(each.message.text.rpartition(" ")[2] for each in index_find(scope, "zebra"))

    assert found() == ["here", "phone", "web"]
    for kind, key, left in (
        ("messages", on_the_phone, ["here", "web"]),
        ("conversations", web.pk, ["here", "phone"]),
        ("surfaces", "telegram", ["here", "web"]),
        ("surfaces", "web", ["here", "phone"]),
    ):
        memory.leave_out(here, kind, key)  # type: ignore[arg-type]
        assert found() == left
        memory.leave_out(here, kind, key, False)  # type: ignore[arg-type]
    memory.leave_out(here, "messages", on_the_web)
    assert sorted(texts(user, "zebra")) == ["the zebra here", "the zebra on the phone", "the zebra on the web"]
    assert phone.pk


def index_find(scope: Scope, query: str, **more: Any) -> list[memory.Found]:
    from crossmemory.memory import searching

    return searching.find(scope, query, **more)


def test_some_can_be_left_out(user: Any) -> None:
    keys = said(user, "the first zebra", "the second zebra")
    found = index_find(Scope(Owner.of(user)), "zebra", without={keys[1]})
    assert [each.message.id for each in found] == [keys[0]]


# As current as the rows


def test_an_edited_message_is_found_by_its_new_words_only(user: Any) -> None:
    [key] = said(user, "the zebra")
    log.edit(Message.objects.select_related("conversation").get(pk=key), "the giraffe", Actor("user", str(user.pk)))
    assert texts(user, "zebra") == []
    assert texts(user, "giraffe") == ["the giraffe"]


@pytest.mark.parametrize("status", [status for status in Message.Status if status != "complete"])
def test_a_message_that_is_not_whole_is_not_found(user: Any, status: str) -> None:
    [key] = said(user, "the zebra")
    with log_writes():
        Message.objects.filter(pk=key).update(status=status)
    assert texts(user, "zebra") == texts(user, "zebar") == texts(user, "zebra", remembered=False) == []
    with log_writes():
        Message.objects.filter(pk=key).update(status="complete")
    assert texts(user, "zebra") == ["the zebra"]


def test_an_erased_message_is_gone_and_is_nobodys_neighbour(user: Any) -> None:
    keys = said(user, "the zebra", "hello")
    erase.message(Message.objects.select_related("conversation").get(pk=keys[0]), Actor("user", str(user.pk)))
    assert texts(user, "zebra", remembered=False) == []
    [found] = memory.search(user, "hello")
    assert found.before == ()
    assert "zebra" not in vocabulary()


def test_an_erased_conversation_and_an_erased_person_are_gone(user: Any, other: Any) -> None:
    said(user, "the zebra")
    said(other, "the other giraffe")
    erase.conversation(memory.get_singleton(user, "telegram"))
    assert texts(user, "zebra", remembered=False) == []
    said(user, "the zebra again")
    key = user.pk
    user.delete()
    user.pk = key
    assert texts(user, "zebra", remembered=False) == []
    assert vocabulary() & {"zebra", "giraffe"} <= {"giraffe"}
    assert texts(other, "giraffe") == ["the other giraffe"]


def vocabulary() -> set[str]:
    """What SQLite's index knows of words; PostgreSQL's knows nothing but its rows."""
    if connection.vendor == "postgresql":
        return set()
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT term FROM {sqlite.WORDS}")
        return {term for (term,) in cursor.fetchall()}


def test_what_is_rolled_back_was_never_found(user: Any) -> None:
    memory.get_singleton(user, "telegram")
    with transaction.atomic():
        said(user, "the zebra")
        assert texts(user, "zebra") == ["the zebra"]
        transaction.set_rollback(True)
    assert texts(user, "zebra") == []
    assert "zebra" not in vocabulary()


def test_rows_that_were_there_before_the_index_are_found(user: Any) -> None:
    """As after a migration that makes the table of messages anew: on SQLite its triggers go with it."""
    here = index.index_of(connection)
    connection.check_constraints()  # PostgreSQL changes no table about which something is still to be checked
    here.remove(connection)
    assert not here.installed(connection)
    said(user, "the zebra")
    connection.check_constraints()
    index.look_after(using="default")
    assert here.installed(connection)
    assert texts(user, "zebra") == ["the zebra"]
    if connection.vendor != "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER crossmemory_search_insert")
        said(user, "the giraffe")
        index.look_after(using="default")
        assert first(user, "giraffe") == "the giraffe"


@pytest.mark.skipif(connection.vendor == "postgresql", reason="FTS5 is SQLite's")
def test_without_fts5_words_are_still_found(user: Any) -> None:
    said(user, "the Zebra", "un jardín")
    sqlite.remove(connection)
    assert first(user, "zebras") == "the Zebra"
    sqlite.install(connection)


def test_a_missing_index_is_told_when_the_database_is_checked() -> None:
    here = index.index_of(connection)

    def told() -> set[str]:
        found = run_checks(tags=["database"], databases=["default"])
        return {str(message.id) for message in found if str(message.id).startswith("crossmemory.")}

    assert told() == set()
    here.remove(connection)
    assert told() == {"crossmemory.W005"}
    here.install(connection)
    assert told() == set()


# The parts


def test_a_stem_begins_its_word() -> None:
    for word in [
        "appointments",
        "happily",
        "running",
        "painters",
        "canciones",
        "hablando",
        "rápidamente",
        "hopes",
        "is",
        "a",
        "ss",
    ]:
        bare = words.plain(word)
        assert bare.startswith(words.stem(bare))
        assert len(words.stem(bare)) >= min(3, len(bare))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("harbour", "harbuor", True),
        ("harbour", "harbor", True),
        ("harbour", "hrbor", False),
        ("cat", "car", False),
        ("katherine", "cathrine", True),
        ("2024", "2025", False),
        ("house", "mouse", True),
    ],
)
def test_slips(one: str, other: str, expected: bool) -> None:
    assert words.is_typo(one, other) is expected


def test_rare_words_count_more_and_guesses_less() -> None:
    wanted = words.terms("red zebra")
    found = {1: "a red car", 2: "a zebra in", 3: "red red red", 4: "blue"}
    scores = ranking.by_words(found, wanted, {}, {wanted[0]: 500}, 1000)
    assert ranking.best(scores, 9) == [2, 3, 1]
    guessed = ranking.by_words(found, wanted, {wanted[1]: ranking.GUESSED}, {}, 1000)
    assert guessed[2] == pytest.approx(ranking.GUESSED * ranking.by_words(found, wanted, {}, {}, 1000)[2])


def test_the_preference_of_another_tenant_says_nothing(user: Any) -> None:
    said(user, "the zebra")
    Preference.objects.create(user=user, tenant="elsewhere", boundary=10**9)
    assert texts(user, "zebra") == ["the zebra"]


async def test_the_async_twin(transactional_db: None, django_user_model: Any) -> None:
    from crossmemory import db

    ana = await db.run(django_user_model.objects.create_user, "ana")
    await db.run(said, ana, "the zebra")
    assert [found.message.text for found in await memory.asearch(ana, "zebra")] == ["the zebra"]
