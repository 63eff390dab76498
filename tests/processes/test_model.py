"""The demo with a model: a local server that speaks like OpenAI's, as `CROSSMEMORY_MODEL_BASE_URL` names it."""

import asyncio
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.processes.running import ANA, Demo, until
from tests.support.providers import Answer, Provider, Received

pytestmark = [pytest.mark.processes, pytest.mark.one_database]


def model(request: Received) -> Answer:
    """Rings when it is asked to, and says what it has been told."""
    newest = request.body["messages"][-1]
    if newest["role"] == "tool":
        return Answer(["The bell: ", str(newest["content"])])
    if "bell" in newest["content"].rpartition("\n\n")[2]:  # the question; before it stands what was said elsewhere
        return Answer(["May I? "], [("ring_bell", {"times": 2})])
    return Answer(["word ", *["by word "] * 20, f"about {len(request.body['messages'])} messages"], pause=0.05)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    """In a thread of its own: the demo's processes call it while the test waits for them."""
    provider, started, ended = Provider("openai", always=model), threading.Event(), threading.Event()

    async def serve() -> None:
        async with provider:
            started.set()
            await asyncio.to_thread(ended.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert started.wait(10)
    yield provider
    ended.set()
    thread.join(10)


@pytest.fixture(scope="module")
def demo(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    env = {"CROSSMEMORY_MODEL": "openai:a-local-model", "CROSSMEMORY_MODEL_BASE_URL": provider.base_url}
    with Demo(tmp_path_factory.mktemp("demo"), **env) as running:
        yield running


def ask(web: httpx.Client, text: str) -> str:
    """Say something in a new chat; where that is."""
    chat = web.post("/api/crossmemory/conversations/", json={"title": "Model"}).json()["id"]
    path = f"/api/crossmemory/conversations/{chat}/"
    web.post(f"{path}messages/", json={"client_id": str(uuid.uuid4()), "text": text}).raise_for_status()
    return path


def answers(web: httpx.Client, path: str) -> list[dict[str, Any]]:
    rows = web.get(f"{path}messages/").json()["messages"]
    return [row for row in rows if row["role"] == "assistant"]


def test_it_streams(demo: Demo) -> None:
    assert "openai:a-local-model" in demo.said
    with demo.sign_in() as web:
        path = ask(web, "Talk to me")
        partly = until(lambda: next((row for row in answers(web, path) if row["status"] == "writing"), None))
        assert "messages" not in partly["text"]
        whole = until(lambda: next((row for row in answers(web, path) if row["status"] == "complete"), None))
        assert whole["text"].startswith(partly["text"].strip())


def pending(web: httpx.Client, path: str) -> dict[str, Any] | None:
    envelope = web.get(f"{path}events/").json()
    return next((each for each in envelope["pending"] if each["type"] == "approval"), None)


def test_permission_is_asked_on_one_device_and_given_on_another(demo: Demo) -> None:
    with demo.sign_in() as web, demo.sign_in() as phone:
        path = ask(web, "Please ring the bell")
        call = until(lambda: pending(phone, path))
        assert (call["title"], call["arguments"]) == ("Ring the harbour bell?", {"times": 2})
        decided = {"decision": "approved", "args_hash": call["args_hash"]}
        phone.post(f"{path}approvals/{call['tool_call']}/", json=decided).raise_for_status()
        done = until(lambda: answers(web, path)[1:])
        assert '"rung"' in until(lambda: answers(web, path)[-1]["text"])
        assert len(done) == 1


def test_what_is_asked_on_the_web_is_approved_on_the_phone(demo: Demo) -> None:
    """The person allows it for their account, asks on the site, goes away, and presses the button in their pocket."""
    with demo.sign_in() as web:
        [account] = web.get("/api/crossmemory/accounts/").json()["accounts"]
        web.patch(f"/api/crossmemory/accounts/{account['id']}/", json={"approvals": True}).raise_for_status()
        earlier = len(demo.outbox())
        path = ask(web, "Please ring the bell")
        until(lambda: pending(web, path))
        card = until(lambda: next((row for row in demo.shown()[earlier:] if row.get("reply_markup")), None))
        assert card["text"].endswith("times: 2\n\n(Web: Model)")
        [[approve, _deny]] = card["reply_markup"]["inline_keyboard"]
        demo.press(card["message_id"], approve["callback_data"])
        assert until(lambda: '"rung"' in answers(web, path)[-1]["text"])
        assert until(lambda: "✓ Approved · Telegram" in demo.shown()[earlier]["text"])


def test_it_is_the_same_assistant_on_the_phone(demo: Demo, provider: Provider) -> None:
    with demo.sign_in() as web:
        path = ask(web, "The parcel shop closes at 18:40.")
        until(lambda: any(row["status"] == "complete" for row in answers(web, path)))
    said = demo.say("When does it close?", ANA)
    assert demo.reply(said).startswith("word by word")
    assert "18:40" in str(provider.received[-1].body)
    assert provider.violations == []
