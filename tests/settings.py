"""Settings of the tests: the demo site on a file SQLite, or on DATABASE_URL."""

import os
import tempfile
from pathlib import Path

from project.settings import *  # noqa: F403
from project.settings import CROSSMEMORY as DEMO
from project.settings import DATABASES

SECRET_KEY = "tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
TEST_DIR = Path(os.environ.get("TEST_DIR") or tempfile.mkdtemp(prefix="crossmemory-tests-"))
MEDIA_ROOT = TEST_DIR / "media"

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    # A file: an in-memory database is one connection, and locks nothing as a real one does.
    DATABASES["default"]["NAME"] = TEST_DIR / "db.sqlite3"
    DATABASES["default"]["TEST"] = {"NAME": str(TEST_DIR / "test.sqlite3")}

CROSSMEMORY = {
    **DEMO,
    "AGENTS": {"default": {"BACKEND": "crossmemory.agents.recall.RecallAgent", "OPTIONS": {"pace": 0}}},
}
CROSSMEMORY["RUNNER"] = {"BACKEND": "tests.support.runner.ManualRunner"}
