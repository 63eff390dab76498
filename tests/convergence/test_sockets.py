"""All screens show the same, with real servers and sockets that break in mid-frame. `make soak-sockets`: for longer."""

import asyncio
import json
import os
import random
import time
from collections import Counter
from typing import Any, Literal

import pytest

from crossmemory.attach.fold import State, fold
from tests.convergence.cutting import Breaking
from tests.convergence.phone import Phone
from tests.support.frames import checked
from tests.support.site import Site, serving
from tests.support.telling import digest, told

pytestmark = [pytest.mark.processes, pytest.mark.one_database]

SECONDS = float(os.environ.get("SECONDS", "4"))
SEED = int(os.environ.get("SEED", "1"))
KILL_SECONDS = 15  # of a longer run, between the server's violent ends

EVENTS = """
import json
from crossmemory.models import Conversation, Event
row = Conversation.objects.get()
events = Event.objects.order_by("seq").values_list("seq", "body")
print(json.dumps([row.epoch, row.floor, [{"seq": seq, **json.loads(body)} for seq, body in events]]))
"""
MESSAGES = """
import json
from crossmemory.models import Message
rows = Message.objects.order_by("seq")
print(json.dumps(list(rows.values_list("client_id", "status", "steer"))))
"""
_ENDS = ("steer.consumed", "steer.promoted", "steer.expired")


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
async def test_screens_agree_after_sockets_broke_in_mid_frame(
    server: Literal["uvicorn", "daphne"], database: Literal["sqlite", "postgresql"]
) -> None:
    rng = random.Random(SEED)
    with serving(database, server, "tests.convergence.settings") as site:
        async with site.attach():
            pass
        async with Breaking(site.port, rng) as way:
            url = site.url.replace(str(site.port), str(way.port))
            phones = [Phone(f"phone {number}", url, site.headers, checked) for number in range(4)]
            lives = [asyncio.create_task(phone.live()) for phone in phones]
            hands = [asyncio.create_task(phone.act(rng)) for phone in phones]
            killed = 0
            while SECONDS - killed * KILL_SECONDS > KILL_SECONDS:
                await _for(KILL_SECONDS, lives)
                await asyncio.to_thread(site.kill)
                site.start()
                killed += 1
            await _for(SECONDS - killed * KILL_SECONDS, lives)
            for hand in hands:
                hand.cancel()
            way.cuts = False
            events = await _settled(site, phones, lives)
            for life in lives:
                life.cancel()
            await asyncio.gather(*lives, return_exceptions=True)
    attached, received = sum(each.attached for each in phones), sum(each.received for each in phones)
    print(
        f"\n{server}, {database}: {SECONDS:g} s, {events} events, {len(phones)} devices, {attached} connections, "
        f"{way.broken} broken in mid-frame, server killed {killed} times, {received} frames, 0 differences"
    )
    assert way.broken > SECONDS / 2
    assert events > SECONDS


async def _for(seconds: float, lives: list[asyncio.Task[None]]) -> None:
    """Let them live. Raises what went wrong in one of them."""
    done, _ = await asyncio.wait(lives, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    for life in done:
        life.result()


async def _settled(site: Site, phones: list[Phone], lives: list[asyncio.Task[None]]) -> int:
    """Wait until all is said and answered; then every screen must be the fold of the log. Returns its head."""
    deadline = time.monotonic() + 60
    while True:
        await _for(0.5, lives)
        quiet = all(phone.online and not phone.outbox and phone.state.run in ("idle", "failed") for phone in phones)
        if quiet and len({phone.state.seq for phone in phones}) == 1:
            epoch, floor, events = json.loads(await asyncio.to_thread(site.manage, "shell", "-v0", "-c", EVENTS))
            if events[-1]["seq"] == phones[0].state.seq:
                break
        assert time.monotonic() < deadline, [(phone.state.run, phone.state.seq, phone.outbox) for phone in phones]
    log = fold(State(epoch=epoch), events)
    for phone in phones:
        assert told(phone.state, floor) == told(log, floor), phone.name
        assert digest(phone.state, floor) == digest(log, floor)
        assert len(set(phone.effects)) == len(phone.effects), "an effect twice"
    rows = json.loads(await asyncio.to_thread(site.manage, "shell", "-v0", "-c", MESSAGES))
    _check(rows, events, {key for phone in phones for key in phone.said})
    kinds = Counter(event["type"] for event in events)
    print(f"\n{kinds['steer.accepted']} steers, {kinds['approval.decided']} decisions in what the log keeps", end="")
    return int(events[-1]["seq"])


def _check(rows: list[Any], events: list[Any], said: set[str]) -> None:
    """Nothing that was said is lost or doubled, nothing is left open, and everything ended once."""
    stored = [client_id for client_id, _, _ in rows if client_id is not None]
    assert sorted(stored) == sorted(said)
    kept = Counter(event["client_id"] for event in events if event["type"] == "message.completed")
    assert all(times == 1 for client_id, times in kept.items() if client_id), kept
    assert not [row for row in rows if row[1] == "writing" or row[2] == "accepted"]
    for kinds, name in ((_ENDS, "message"), (("approval.decided",), "tool_call")):
        ended = Counter(event["data"][name] for event in events if event["type"] in kinds)
        assert all(times == 1 for times in ended.values()), ended
