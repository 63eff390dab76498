"""A server process that waits two seconds for a slow reader."""

from tests.faults.settings import *  # noqa: F403
from tests.faults.settings import CROSSMEMORY as BASE

CROSSMEMORY = {**BASE, "PONG_TIMEOUT_SECONDS": 2}
