"""PostgreSQL is restarted under the demo: its bot and its server live on, and nothing is lost or said twice."""

import re
import time
from collections.abc import Iterator

import httpx
import pytest

from tests.processes.running import Demo, alive, until
from tests.support.postgres import Server, private

pytestmark = [pytest.mark.processes, pytest.mark.one_database]


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with private() as server:
        yield server


@pytest.fixture(scope="module")
def demo(postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("demo"), DATABASE_URL=postgres.url) as running:
        yield running


def shown(demo: Demo, after: int) -> list[str]:
    """What the bot sent, as far as the site can say it."""
    try:
        return demo.outbox(after)
    except httpx.HTTPStatusError:
        return []


@pytest.mark.parametrize("seconds", [0, 8], ids=["at once", "for longer than the leases of runs"])
def test_the_bot_lives_through_a_restart_of_the_database(demo: Demo, postgres: Server, seconds: float) -> None:
    bot, server = demo.pid("bot"), demo.pid("server")
    most = 30 + int(seconds)
    first = demo.say(f"Count to {most}, please.")
    until(lambda: demo.typing() or demo.outbox(first))
    postgres.stop("immediate")
    time.sleep(seconds)
    postgres.start()
    until(lambda: shown(demo, first), 60)
    second = until(lambda: demo.try_to_say(f"The gate code is {7000 + seconds}."), 60)
    assert demo.reply(second)
    third = demo.say("What is the gate code?")
    assert str(7000 + seconds) in demo.reply(third)
    answers = [text for text in demo.outbox(first) if re.search(rf"\b{most - 1}\W+{most}\b", text)]
    assert len(answers) == 1, demo.outbox(first)
    assert (demo.pid("bot"), demo.pid("server")) == (bot, server)
    assert bot
    assert alive(bot)
