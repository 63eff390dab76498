"""Updates that Telegram brings itself: stored before it hears 200, and seen to by the bot's process."""

import asyncio
import contextlib
import json
import signal
from collections.abc import AsyncIterator
from typing import Any

import pytest
from django.db import OperationalError
from django.test import Client

from crossmemory import db, inbox
from crossmemory.models import InboundUpdate, Message, Poller
from crossmemory.surfaces.telegram import TelegramSurface, webhook
from crossmemory.surfaces.telegram.holding import Receiving
from crossmemory.surfaces.telegram.polling import Polling
from crossmemory.surfaces.telegram.webhook import Webhook, secret_of
from tests.sandbox.conftest import Doors
from tests.sandbox.live import LiveServer
from tests.telegram.bot_process import BotProcess
from tests.telegram.conftest import ANA, BOT, arrived, eventually

PATH = "/telegram/telegram/updates/"
UPDATE = b'{"update_id": 7, "message": {"message_id": 1, "from": {"id": 5001}, "text": "\\ud83d hello"} }'


@pytest.fixture
def site(surface: TelegramSurface) -> Any:
    """Posts one update; a browser's protection against other sites is on."""
    client = Client(enforce_csrf_checks=True, raise_request_exception=False)

    def post(body: bytes = UPDATE, secret: str | None = None, path: str = PATH) -> int:
        said = secret_of(surface) if secret is None else secret
        answer = client.post(path, body, "application/json", headers={"X-Telegram-Bot-Api-Secret-Token": said})
        return answer.status_code

    return post


def test_an_update_is_stored_as_it_came(site: Any) -> None:
    assert site() == 200
    row = InboundUpdate.objects.get()
    assert (row.surface, row.account, row.external_id, row.kind, row.sender) == (
        "telegram", BOT, "7", "message", "5001",
    )  # fmt: skip
    assert bytes(row.raw) == UPDATE


def test_what_comes_again_is_one_row(site: Any) -> None:
    assert [site(), site(), site(UPDATE.replace(b"hello", b"other"))] == [200, 200, 200]
    assert InboundUpdate.objects.count() == 1


@pytest.mark.parametrize("secret", ["", "wrong", "é"])
def test_another_secret_stores_nothing(site: Any, secret: str) -> None:
    assert site(secret=secret) == 403
    assert not InboundUpdate.objects.exists()


def test_each_bot_has_a_secret_of_its_own_that_tells_nothing_of_its_token(surface: TelegramSurface) -> None:
    other = TelegramSurface("other", token=f"{BOT}:another-token")
    assert secret_of(other) != secret_of(surface)
    assert surface.token.partition(":")[2] not in secret_of(surface)
    assert len(secret_of(surface)) <= 256
    assert secret_of(surface).isalnum()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[1]", 400),
        (b'{"message": {}}', 400),
        (b'{"update_id": "7"}', 400),
        (b"[" * 100_000, 400),
        (b"\xff\xfe", 400),
        (b'{"update_id": 1, "x": "' + b"x" * webhook.MAX_BYTES + b'"}', 413),
    ],
)
def test_what_cannot_be_an_update_is_refused(site: Any, body: bytes, status: int) -> None:
    assert site(body) == status
    assert not InboundUpdate.objects.exists()


@pytest.mark.parametrize("alias", ["web", "nobody", "telegram%00"])
def test_what_is_no_bot_is_not_found(site: Any, alias: str) -> None:
    assert site(path=f"/telegram/{alias}/updates/") == 404


def test_only_post(site: Any, client: Client) -> None:
    assert client.get(PATH).status_code == 405


def test_telegram_brings_again_what_could_not_be_stored(site: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(inbox, "store_all", full)
        assert site() == 503
    assert site() == 200
    assert InboundUpdate.objects.count() == 1


def site_of(server: LiveServer) -> str:
    return server.base.removesuffix("/sandbox/telegram")


def address(server: LiveServer) -> str:
    return site_of(server) + PATH


@contextlib.asynccontextmanager
async def runs(receiving: Receiving) -> AsyncIterator[Receiving]:
    task = asyncio.create_task(receiving.run())
    try:
        yield receiving
    finally:
        receiving.stop()
        await task


async def says(state: str, words: str = "") -> bool:
    async def so() -> bool:
        row = await db.run(Poller.objects.filter(surface="telegram").first)
        return row is not None and row.state == state and words in row.detail

    return bool(await eventually(so))


async def count(number: int) -> bool:
    async def so() -> bool:
        return await db.run(InboundUpdate.objects.count) == number

    return bool(await eventually(so))


async def test_updates_come_to_the_site_and_what_waited_too(
    surface: TelegramSurface, server: LiveServer, doors: Doors
) -> None:
    await doors.say("before")
    async with runs(Webhook(surface, "one", address(server))):
        assert await says("ok", "@")
        await doors.say("after")
        assert await count(2)
    row = await db.run(Poller.objects.get)
    assert (row.state, row.owner) == ("stopped", "")
    await doors.say("while no bot runs")  # the site itself stores it
    assert await count(3)


async def test_a_site_that_cannot_be_reached_is_said_and_passes(
    surface: TelegramSurface, server: LiveServer, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "LOOK_SECONDS", 0.3)
    wrong = f"{site_of(server)}/telegram/nobody/updates/"
    async with runs(Webhook(surface, "one", wrong)):
        await doors.say("keep me")
        assert await says("backing_off", "Telegram cannot bring 1 updates: Wrong response from the webhook: 404")
    async with runs(Webhook(surface, "two", address(server))):
        assert await says("ok")
        assert await count(1)


async def test_a_webhook_that_somebody_changed_is_a_conflict_and_set_again(
    surface: TelegramSurface, server: LiveServer, doors: Doors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "LOOK_SECONDS", 0.3)
    async with runs(Webhook(surface, "one", address(server))):
        assert await says("ok")
        await surface.bot().set_webhook("https://example.com/other/")
        assert await says("conflict")
        assert await says("ok")
        assert (await surface.bot().get_webhook_info()).url == address(server)


async def test_polling_leaves_a_webhook_alone_until_it_is_told_to(
    surface: TelegramSurface, server: LiveServer, doors: Doors
) -> None:
    await surface.bot().set_webhook("http://127.0.0.1:9/nobody/")
    await doors.say("keep me")
    async with runs(Polling(surface, "one", lambda: None)):
        assert await says("conflict", "--delete-webhook")
    assert (await surface.bot().get_webhook_info()).url
    async with runs(Polling(surface, "two", lambda: None, delete_webhook=True)):
        assert await says("ok")
        assert await count(1)
    assert (await surface.bot().get_webhook_info()).url == ""


@pytest.mark.processes
async def test_a_bot_with_a_webhook_answers(bot: BotProcess, server: LiveServer, doors: Doors, ana: Any) -> None:
    bot.start("--webhook", site_of(server))
    await doors.say("My cat is called Miso.")
    await arrived(doors)
    await doors.say("What is my cat called?", times=3)
    assert "Miso" in (await arrived(doors, 2))[1]
    assert await db.run(Message.objects.filter(role="user").count) == 2
    healthy = bot.manage("crossmemory_health", "--json")
    assert (healthy.returncode, json.loads(healthy.stdout)["surfaces"][0]["state"]) == (0, "ok")
    bot.signal(signal.SIGTERM)
    assert await bot.ended() == 0
    assert len(await doors.texts(ANA)) == 2


@pytest.mark.processes
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("example.com", "begins with https://"),
        ("ftp://example.com", "begins with https://"),
        ("https://example.com/elsewhere/", PATH),
        (f"https://example.com{PATH}?x=1", "no ? or #"),
    ],
)
async def test_an_address_that_cannot_be_right_is_refused(bot: BotProcess, ana: Any, url: str, words: str) -> None:
    refused = bot.manage("run_telegram_bot", "--webhook", url)
    assert refused.returncode == 2
    assert words in refused.stderr
