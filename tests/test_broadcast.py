"""Doorbells ring in the process, across processes, and are not needed for truth."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crossmemory import broadcast, db, log
from crossmemory.broadcast import Listener
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Owner

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def conversation(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


def say(conversation: Conversation) -> None:
    log.append_message(conversation, NewMessage("user", Actor("user", "1"), "hello"))


async def test_an_append_rings_listeners_of_its_conversation_only(conversation: Conversation, user: Any) -> None:
    quiet = await db.run(log.create, Owner.of(user), "web", "Quiet")
    async with Listener(conversation.pk) as bell, Listener(quiet.pk) as other:
        while await bell.wait(0.6) or await other.wait(0.6):
            pass  # the first look into the database
        await db.run(say, conversation)
        assert await bell.wait(0.3)
        assert not await other.wait(0.3)


async def test_what_another_process_wrote_is_found_without_a_layer(
    conversation: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Listener(conversation.pk) as bell:
        while await bell.wait(0.7):
            pass
        monkeypatch.setattr(broadcast.bus(), "ring", lambda key: None)  # as if another process had appended
        await db.run(say, conversation)
        assert await bell.wait(3)


@pytest.fixture
def redis() -> Iterator[str]:
    server = shutil.which("redis-server")
    assert server, "these tests need redis-server: tests/support/install_system.sh installs it"
    folder = Path(tempfile.mkdtemp(prefix="cm-redis-"))
    process = subprocess.Popen(
        [server, "--port", "0", "--unixsocket", str(folder / "s"), "--save", "", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
    )
    try:
        yield f"unix://{folder / 's'}"
    finally:
        process.terminate()
        process.wait()


RING = """
import sys, asyncio
from django.conf import settings
layer = {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [sys.argv[1]]}}
settings.configure(CHANNEL_LAYERS={"default": layer})
from channels.layers import get_channel_layer
bell = {"type": "crossmemory.doorbell", "conversation": int(sys.argv[2])}
asyncio.run(get_channel_layer().group_send("crossmemory." + sys.argv[2], bell))
"""


async def test_another_process_rings_through_redis(conversation: Conversation, redis: str, settings: Any) -> None:
    await asyncio.sleep(0.3)
    settings.CHANNEL_LAYERS = {
        "default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [redis]}}
    }
    assert broadcast.shared_layer() is not None
    await db.run(broadcast.stop)
    try:
        async with Listener(conversation.pk) as bell:
            assert await bell.wait(5)  # joined
            while await bell.wait(1):
                pass
            process = await asyncio.create_subprocess_exec(sys.executable, "-c", RING, redis, str(conversation.pk))
            await process.wait()
            assert await bell.wait(1)
    finally:
        await db.run(broadcast.stop)
