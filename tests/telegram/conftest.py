"""The real sandbox over HTTP, and the surface that speaks to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from crossmemory import db
from crossmemory.models import Delivery, Run, SurfaceLink
from crossmemory.surfaces import Destination, Outcome, Piece, surfaces
from crossmemory.surfaces.telegram import TelegramSurface
from tests.sandbox.conftest import Doors
from tests.sandbox.live import LiveServer
from tests.telegram.bot_process import BotProcess

TOKEN = "7000000001:sandbox-bot-token-for-the-demo-site"
BOT = TOKEN.partition(":")[0]
ANA = 5001


@pytest.fixture(autouse=True)
def _as_in_the_bots_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """`run_telegram_bot` sets it."""
    monkeypatch.setenv("PTB_TIMEDELTA", "true")


@pytest.fixture
def server(transactional_db: None, settings: Any) -> Iterator[LiveServer]:
    settings.SANDBOX = True
    settings.ROOT_URLCONF = "tests.telegram.urls"
    live = LiveServer()
    yield live
    live.stop()


@pytest.fixture
async def doors(server: LiveServer) -> AsyncIterator[Doors]:
    # A connection that is kept open may be closed just when it is used again.
    fresh = httpx.Limits(max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=server.base, timeout=10, limits=fresh) as client:
        yield Doors(client)


@pytest.fixture
async def surface(server: LiveServer, settings: Any) -> AsyncIterator[TelegramSurface]:
    """The site's Telegram surface, which the app finds under its alias."""
    options = {"token": TOKEN, "api_url": server.base, "label": "Telegram"}
    settings.CROSSMEMORY = {
        **settings.CROSSMEMORY,
        "SURFACES": {
            "web": {"BACKEND": "crossmemory.surfaces.web.WebSurface"},
            "telegram": {"BACKEND": "crossmemory.surfaces.telegram.TelegramSurface", "OPTIONS": options},
        },
    }
    made = surfaces["telegram"]
    assert isinstance(made, TelegramSurface)
    yield made
    await made.close()


async def deliver(surface: TelegramSurface, destination: Destination, piece: Piece) -> Outcome:
    """As a sender does it."""
    return await surface.turn(destination) or await surface.deliver(destination, piece)


def link(user: Any, external_id: int = ANA) -> SurfaceLink:
    """Connect an outside account, without the notice that says so."""
    return SurfaceLink.objects.create(
        user=user, surface="telegram", account=BOT, external_id=str(external_id), chat=str(external_id),
        name="Ana", status="active",
    )  # fmt: skip


async def eventually(ask: Callable[[], Awaitable[Any]], seconds: float = 20) -> Any:
    """Ask until the answer is true; the last answer after `seconds`."""
    until = asyncio.get_running_loop().time() + seconds
    while not (answer := await ask()) and asyncio.get_running_loop().time() < until:  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    return answer


@pytest.fixture
def bot(server: LiveServer, tmp_path: Path) -> Iterator[BotProcess]:
    made = BotProcess(server, tmp_path / "bot.log")
    yield made
    if made.process is not None and made.process.poll() is None:
        made.process.kill()
        made.process.wait()
    print(made.words())


@pytest.fixture
async def ana(user: Any, server: LiveServer) -> Any:
    await db.run(link, user)
    return user


async def arrived(doors: Doors, count: int = 1) -> list[str]:
    async def enough() -> bool:
        return len(await doors.texts(ANA)) >= count

    await eventually(enough, 30)
    return await doors.texts(ANA)


async def settled(doors: Doors) -> list[str]:
    """What arrived, once nothing more is under way."""

    async def idle() -> bool:
        open_runs = Run.objects.filter(status__in=["queued", "running"])
        waiting = Delivery.objects.filter(status__in=["pending", "sending"])
        return not await db.run(open_runs.exists) and not await db.run(waiting.exists)

    await arrived(doors)
    await eventually(idle, 45)
    await asyncio.sleep(0.5)
    return await doors.texts(ANA)


async def running() -> bool:
    """Whether an answer is under way."""
    return await db.run(Run.objects.filter(status="running").exists)
