"""Settings of the benchmark: the app alone, on the database that `python -m bench` made for itself.

``BENCH_DATABASE_URL`` is that database; ``BENCH_AGENT`` is the dotted path of the agent that answers.
"""

import os

import dj_database_url

SECRET_KEY = "a benchmark"
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "rest_framework",
    "rest_framework.authtoken",
    "crossmemory",
]
MIDDLEWARE: list[str] = []
ROOT_URLCONF = "bench.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"

_DATABASE = dj_database_url.parse(os.environ["BENCH_DATABASE_URL"], conn_max_age=600)
DATABASES = {
    # What a site has that sets no OPTIONS.
    "default": _DATABASE,
    # What the documentation recommends.
    "bound": {**_DATABASE, "OPTIONS": {"server_side_binding": True, "prepare_threshold": 5}},
}
DATABASE_ROUTERS = ["bench.database.Chosen"]

CROSSMEMORY = {
    "AGENTS": {"default": {"BACKEND": os.environ.get("BENCH_AGENT", "crossmemory.agents.recall.RecallAgent")}},
    "SURFACES": {
        "web": {"BACKEND": "crossmemory.surfaces.web.WebSurface"},
        # Only its label is used: nothing is delivered here.
        "telegram": {"BACKEND": "crossmemory.surfaces.base.Surface", "OPTIONS": {"label": "Telegram"}},
    },
    "RUNNER": {"BACKEND": os.environ.get("BENCH_RUNNER", "crossmemory.runs.embedded.EmbeddedRunner")},
}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["console"], "level": "WARNING"},
}
