"""Settings of a bot process that is killed."""

from tests.telegram.process_settings import *  # noqa: F403
from tests.telegram.process_settings import CROSSMEMORY, INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.telegram.killing.Killing"]
CROSSMEMORY["AGENTS"] = {
    "default": {
        "BACKEND": "crossmemory.agents.callable.CallableAgent",
        "OPTIONS": {"FUNCTION": "tests.telegram.killing.reply"},
    }
}
CROSSMEMORY["RUN_LEASE_SECONDS"] = 2
CROSSMEMORY["RUN_MAX_ATTEMPTS"] = 1000  # it is not the agent that kills the process
