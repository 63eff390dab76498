"""A server process whose agent is restless and whose log is short."""

from tests.faults.settings import *  # noqa: F403
from tests.faults.settings import CROSSMEMORY as BASE

CROSSMEMORY = {
    **BASE,
    "AGENTS": {"default": {"BACKEND": "tests.convergence.restless.RestlessAgent"}},
    "LOG_MAX_EVENTS": 200,
    "LOG_MAX_BYTES": 200_000,
    "APPROVAL_SECONDS": 3,
    "PING_SECONDS": 2,
    "MAX_FRAME_BYTES": 24 * 1024,
}
