from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import telegram
from telegram.request import HTTPXRequest

from tests.sandbox.live import LiveServer

TOKEN = "7000000001:sandbox-bot-token-for-the-demo-site"


@pytest.fixture(autouse=True)
def _timedeltas(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's times as its next major version has them; else it warns."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture(autouse=True)
def _sandbox_is_open(settings: Any) -> None:
    settings.SANDBOX = True
    settings.ROOT_URLCONF = "tests.sandbox.urls"
    settings.CROSSMEMORY = {"SURFACES": {"telegram": {"OPTIONS": {"token": TOKEN}}}}


@pytest.fixture
def server(transactional_db: None) -> Iterator[LiveServer]:
    server = LiveServer()
    yield server
    server.stop()


def bot_for(server: LiveServer, token: str = TOKEN) -> telegram.Bot:
    """The real client, unmodified, with a short patience."""
    return telegram.Bot(
        token,
        base_url=f"{server.base}/bot",
        base_file_url=f"{server.base}/file/bot",
        request=HTTPXRequest(read_timeout=3),
        get_updates_request=HTTPXRequest(read_timeout=3, connection_pool_size=4),
    )


@pytest.fixture
async def bot(server: LiveServer) -> AsyncIterator[telegram.Bot]:
    async with bot_for(server) as bot:
        yield bot


class Doors:
    """The JSON doors, each answer checked for its status."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def post(self, door: str, body: Any, status: int = 200) -> Any:
        answer = await self._client.post(door, json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def get(self, door: str, **query: Any) -> Any:
        answer = await self._client.get(door, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def delete(self, door: str) -> Any:
        return (await self._client.delete(door)).json()

    async def say(self, text: str, user_id: int = 5001, **more: Any) -> Any:
        return await self.post("say", {"user_id": user_id, "text": text, **more})

    async def texts(self, chat_id: int = 5001) -> list[str]:
        return [message["text"] for message in (await self.get("outbox", chat_id=chat_id))["messages"]]


@pytest.fixture
async def doors(server: LiveServer) -> AsyncIterator[Doors]:
    async with httpx.AsyncClient(base_url=server.base, timeout=10) as client:
        yield Doors(client)
