"""A server process of its own: the demo site's app and API, the embedded runner, an agent that takes its time."""

from tests.settings import *  # noqa: F403
from tests.settings import CROSSMEMORY as BASE

ROOT_URLCONF = "tests.faults.site"
ASGI_APPLICATION = "tests.faults.site.application"
CROSSMEMORY = {
    **BASE,
    "RUNNER": {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"},
    "AGENTS": {"default": {"BACKEND": "tests.faults.site.SlowAgent"}},
    "RUN_LEASE_SECONDS": 3,
}
