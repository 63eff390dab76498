"""Several agents on one site: each with its own conversations, memory and settings, for those who may use it."""

import asyncio
from typing import Any

import pytest
from django.test import Client

from crossmemory import db, intake, linking, log, memory, permission
from crossmemory.events import Actor
from crossmemory.exceptions import AgentNotAllowed
from crossmemory.models import Conversation, Delivery, Event, InboundUpdate, Message, Owner
from crossmemory.runs import engine
from tests.intake.phone import arrive
from tests.support.attached import attach
from tests.support.runner import ScriptedAgent

pytestmark = pytest.mark.django_db(transaction=True)

ROOT = "/api/crossmemory/"
AGENTS = ("default", "work")


def allowed(user: Any) -> bool:
    """Those of the staff."""
    if user.last_name == "trouble":
        raise ValueError("the directory does not answer")
    return bool(user.is_staff)


@pytest.fixture(autouse=True)
def two_agents(settings: Any) -> None:
    telegram = settings.CROSSMEMORY["SURFACES"]["telegram"]
    work = {**telegram, "OPTIONS": {**telegram["OPTIONS"], "agent": "work", "label": "Work bot"}}
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "AGENTS": {
            "default": {"BACKEND": "tests.support.runner.ScriptedAgent"},
            "work": {"BACKEND": "tests.support.runner.ScriptedAgent", "ALLOWED": f"{__name__}.allowed"},
        },
        "SURFACES": {**settings.CROSSMEMORY["SURFACES"], "workbot": work},
    }
    ScriptedAgent.forget()


@pytest.fixture
def staff(django_user_model: Any) -> Any:
    return django_user_model.objects.create_user("sam", password="demo", is_staff=True)


def texts(messages: Any) -> set[str]:
    return {message.text for message in messages}


async def test_their_memories_do_not_mix(staff: Any) -> None:
    def talk() -> None:
        for agent, phone in (("default", "telegram"), ("work", "workbot")):
            for surface in ("web", phone):
                owner = Owner.of(staff, agent)
                web = surface == "web"
                chat = log.create(owner, "web", "") if web else memory.get_singleton(staff, surface, agent)
                intake.say(chat, f"{agent} on {surface}", author=Actor("user", str(staff.pk)))

    await db.run(talk)
    assert await engine.run_waiting("w") == 4

    def check() -> None:
        singletons = [memory.get_singleton(staff, "telegram", agent) for agent in AGENTS]
        assert singletons[0].pk != singletons[1].pk
        for agent, other in (AGENTS, AGENTS[::-1]):
            phone = "telegram" if agent == "default" else "workbot"
            mine = {f"{agent} on web", f"{agent} on {phone}"}
            answers = {f"answer to {text}" for text in mine}
            seen = [
                texts(memory.load_cross_context(staff, agent)),
                texts(memory.load_surface_recent(staff, agent=agent)),
                *(texts(given.messages) for given in ScriptedAgent.contexts if given.owner.agent == agent),
                {each["content"] for each in memory.prepend_recent([], staff, agent=agent)},
            ]
            for conversation in Conversation.objects.of(Owner.of(staff, agent)):
                seen.append(texts(memory.build_context(conversation).messages))
            assert all(found <= mine | answers for found in seen)
            assert mine <= set.union(*seen)
            assert not any(text.startswith(other) for found in seen for text in found)

    await db.run(check)


def test_each_has_its_own_singleton_of_the_same_surface(staff: Any) -> None:
    one, two = (memory.get_singleton(staff, "telegram", agent) for agent in AGENTS)
    assert (one.agent, two.agent) == AGENTS
    assert memory.get_singleton(staff, "telegram", "work").pk == two.pk


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, path: str, **body: Any) -> Any:
    return client.post(ROOT + path, body, content_type="application/json")


@pytest.fixture
def lost(staff: Any) -> Conversation:
    """A chat with the agent, whose person may not use it any more."""
    chat = log.create(Owner.of(staff, "work"), "web", "Plans")
    intake.say(chat, "before", author=Actor("user", str(staff.pk)))
    type(staff).objects.update(is_staff=False)
    return chat


def test_who_may_use_it_makes_conversations(user: Any, staff: Any) -> None:
    for person, status in ((staff, 201), (user, 403)):
        made = post(signed_in(person), "conversations/", agent="work")
        assert made.status_code == status
        assert post(signed_in(person), "conversations/").status_code == 201
    assert made.json()["code"] == "agent_not_allowed"


def test_who_may_not_cannot_say_follow_or_send_anything(staff: Any, lost: Conversation) -> None:
    client, path = signed_in(staff), f"conversations/{lost.uid}/"
    before = Event.objects.count()
    for answer in (
        post(client, f"{path}messages/", client_id="a", text="after"),
        post(client, f"{path}again/"),
        client.get(f"{ROOT}{path}events/"),
        client.get(f"{ROOT}{path}events/stream/"),
        client.post(f"{ROOT}{path}attachments/"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (403, "agent_not_allowed")
    assert Event.objects.count() == before


def test_what_they_said_stays_theirs_to_read_and_to_delete(staff: Any, lost: Conversation) -> None:
    client = signed_in(staff)
    read = client.get(f"{ROOT}conversations/{lost.uid}/messages/")
    assert [message["text"] for message in read.json()["messages"]] == ["before"]
    assert client.delete(f"{ROOT}conversations/{lost.uid}/").status_code == 204


async def test_a_socket_does_not_attach(staff: Any, lost: Conversation) -> None:
    async with attach(staff, lost) as client:
        assert await client.close_code() == 4503


def test_nobody_decides_about_a_tool_of_an_agent_they_may_not_use(lost: Conversation) -> None:
    with pytest.raises(AgentNotAllowed):
        intake.decide(lost, "x", "approved", "x", by=Actor("user", "1"), where="web")


def test_no_account_is_connected_to_it(user: Any, staff: Any) -> None:
    refused = post(signed_in(user), "accounts/codes/", surface="workbot")
    assert (refused.status_code, refused.json()["code"]) == (403, "agent_not_allowed")
    assert post(signed_in(user), "accounts/codes/", surface="telegram").status_code == 201
    code, _ = linking.create_code(staff, "workbot")
    link = linking.use_code("workbot", "7000000001", code, "77", "77")
    type(staff).objects.update(is_staff=False)
    staff.refresh_from_db()
    with pytest.raises(AgentNotAllowed):
        linking.confirm(staff, link.uid)


def test_on_the_phone_they_are_told(staff: Any, settings: Any) -> None:
    code, _ = linking.create_code(staff, "telegram", "both")
    arrive(f"/start {code}")
    (pending,) = linking.accounts(staff)
    linking.confirm(staff, pending.uid)
    Delivery.objects.all().delete()
    one = {**settings.CROSSMEMORY["AGENTS"]["default"], "ALLOWED": f"{__name__}.allowed"}
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "AGENTS": {"default": one}}
    type(staff).objects.update(is_staff=False)
    arrive("Are you there?")
    assert "may not use" in Delivery.objects.latest("pk").payload["text"]
    assert InboundUpdate.objects.latest("pk").outcome == "agent_not_allowed"
    arrive("/again")
    assert "may not use" in Delivery.objects.latest("pk").payload["text"]
    assert not Message.objects.filter(text="Are you there?").exists()


def test_a_predicate_that_fails_lets_nobody_in(staff: Any) -> None:
    assert permission.may_use(staff, "work")
    staff.last_name = "trouble"
    assert not permission.may_use(staff, "work")


def test_without_a_predicate_nobody_is_asked_for(user: Any, django_assert_num_queries: Any) -> None:
    chat = Conversation.objects.get(pk=log.create(Owner.of(user), "web", "").pk)
    with django_assert_num_queries(0):
        permission.check_conversation(chat)


async def test_what_one_costs_the_other_does_not(staff: Any) -> None:
    """Runs of both at the same time, each with its own agent."""

    def talk() -> None:
        for agent in AGENTS:
            chat = log.create(Owner.of(staff, agent), "web", "")
            intake.say(chat, agent, author=Actor("user", str(staff.pk)))

    await db.run(talk)
    claimed = await engine.claim_waiting("w", 2)
    await asyncio.gather(*(engine.execute(run) for run in claimed))
    assert {given.owner.agent for given in ScriptedAgent.contexts if given.owner} == set(AGENTS)
