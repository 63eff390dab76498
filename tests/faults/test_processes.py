"""Real processes on a real PostgreSQL: the database goes away, the server is killed; nothing is lost."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection

from tests.support.frames import checked
from tests.support.site import Site, serving

pytestmark = [pytest.mark.processes, pytest.mark.one_database]

COUNTED = " ".join(str(number) for number in range(1, 41))


async def frame(client: ClientConnection) -> dict[str, Any]:
    return checked(str(await client.recv()))


async def until(client: ClientConnection, kind: str) -> dict[str, Any]:
    """The next event of a type."""
    async with asyncio.timeout(60):
        while True:
            received = await frame(client)
            if received["type"] == "event" and received["event"]["type"] == kind:
                return dict(received["event"])


async def delta(client: ClientConnection) -> None:
    async with asyncio.timeout(10):
        while (await frame(client))["type"] != "delta":
            pass


@pytest.fixture
def site() -> Iterator[Site]:
    with serving("postgresql") as made:
        yield made


SEND = {"type": "message.send", "client_id": "c1", "text": "count to forty"}


async def test_a_database_that_is_gone_in_mid_run_costs_nothing(site: Site) -> None:
    postgres = site.postgres
    assert postgres
    async with site.attach() as client:
        await client.send(json.dumps(SEND))
        await delta(client)
        await asyncio.to_thread(postgres.stop, "immediate")
        await client.send(json.dumps({**SEND, "client_id": "c2", "text": "are you there?"}))
        async with asyncio.timeout(10):
            while (received := await frame(client))["type"] != "nack":
                pass
        assert (received["client_id"], received["code"], received["retryable"]) == ("c2", "unavailable", True)
        await asyncio.sleep(6)  # longer than the lease, and than the agent still needs
        await asyncio.to_thread(postgres.start)
        answer = await until(client, "message.completed")
        while answer["data"]["role"] != "assistant":
            answer = await until(client, "message.completed")
        assert answer["data"]["text"] == COUNTED
        await client.send(json.dumps({**SEND, "client_id": "c2", "text": "are you there?"}))
        assert (await until(client, "message.completed"))["data"]["text"] == "are you there?"
    assert site.process
    assert site.process.poll() is None


async def test_a_server_killed_in_mid_answer_closes_the_answer_visibly(site: Site) -> None:
    async with site.attach() as client:
        await client.send(json.dumps(SEND))
        await delta(client)
        await asyncio.sleep(0.5)
        site.kill()
    site.start()
    async with site.attach() as client:
        interrupted = await until(client, "message.interrupted")
        assert interrupted["data"]["reason"] == "abandoned"
        assert interrupted["data"]["text"].startswith("1 2 ")
        await until(client, "run.abandoned")
        await client.send(json.dumps({**SEND, "client_id": "c2"}))
        while (answer := await until(client, "message.completed"))["data"]["role"] != "assistant":
            pass
        assert answer["data"]["text"] == COUNTED
