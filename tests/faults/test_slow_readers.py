"""A client that never reads costs a bounded amount of memory, on each server, and is closed as too slow."""

import base64
import os
import re
import socket
import time
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest

from crossmemory.attach.follower import TOO_SLOW
from tests.support.site import Site, serving

pytestmark = [pytest.mark.processes, pytest.mark.one_database]

MIB = 1024 * 1024
FLOOD = """
from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation
conversation = Conversation.objects.get()
for number in range(500):
    log.append_message(conversation, NewMessage("user", Actor("user", "1"), f"{number} " + "x" * 60_000))
"""


def deaf(site: Site) -> socket.socket:
    """A client that has opened its socket, and reads no more."""
    about = urlsplit(site.url)
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
    client.connect(("127.0.0.1", site.port))
    key = base64.b64encode(os.urandom(16)).decode()
    lines = [
        f"GET {about.path} HTTP/1.1",
        f"Host: 127.0.0.1:{site.port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: crossmemory.v1",
        *(f"{name}: {value}" for name, value in site.headers.items()),
    ]
    client.sendall("\r\n".join([*lines, "", ""]).encode())
    assert b"101" in client.recv(64)
    return client


def resident(pid: int) -> int:
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) * 1024


@pytest.mark.parametrize("server", ["uvicorn", "daphne"])
def test_who_never_reads_costs_little_and_is_closed(server: Literal["uvicorn", "daphne"]) -> None:
    with serving("sqlite", server, "tests.faults.impatient") as site:
        assert site.process
        deadline = time.monotonic() + 30
        while True:
            try:
                client = deaf(site)
                break
            except OSError:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        time.sleep(1)
        before = resident(site.process.pid)
        site.manage("shell", "-v0", "-c", FLOOD)  # 30 MB
        most = before
        for _ in range(40):
            most = max(most, resident(site.process.pid))
            time.sleep(0.1)
        assert most - before < 16 * MIB
        client.settimeout(10)
        received, closed = read(client)
        assert len(received) < 6 * MIB  # a mebibyte without a sign, and what kernels hold
        assert closed
        if server == "uvicorn":  # daphne resets the connection of somebody who does not take its goodbye
            assert received.endswith(CLOSED)


CLOSED = b"\x88\x02" + TOO_SLOW.to_bytes(2)  # a closing frame with a code


def read(client: socket.socket) -> tuple[bytes, bool]:
    """What the kernels held for a client; and whether the server has closed the connection."""
    received = b""
    try:
        while piece := client.recv(65_536):
            received += piece
    except ConnectionResetError:
        return received, True
    except TimeoutError:
        return received, False
    finally:
        client.close()
    return received, True
