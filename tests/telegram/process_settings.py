"""Settings of a bot process in a test: the test's own database and sandbox."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import CROSSMEMORY, DATABASES

ROOT_URLCONF = "tests.telegram.urls"
DATABASES["default"]["NAME"] = os.environ["TEST_DATABASE"]
CROSSMEMORY["AGENTS"] = {
    "default": {
        "BACKEND": "crossmemory.agents.recall.RecallAgent",
        "OPTIONS": {"pace": float(os.environ.get("TEST_PACE", "0"))},
    }
}
CROSSMEMORY["RUNNER"] = {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"}
