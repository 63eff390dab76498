"""Settings of the demo site. Every part can be switched to a real one by an environment variable:

``DATABASE_URL``, ``REDIS_URL``, ``CROSSMEMORY_MODEL`` (with ``CROSSMEMORY_MODEL_BASE_URL`` and the provider's own key,
such as ``OPENAI_API_KEY``), ``TELEGRAM_BOT_TOKEN``, ``TELEGRAM_API_URL``, ``PORT``, ``DEMO_DIR``, ``DEMO_PACE``,
``DEBUG``, ``SANDBOX``, ``SECRET_KEY``, ``ALLOWED_HOSTS``, ``LOG_LEVEL``.
"""

import os
from pathlib import Path
from typing import Any

import dj_database_url

BASE_DIR = Path(__file__).resolve().parent.parent
DEMO_DIR = Path(os.environ.get("DEMO_DIR", BASE_DIR / ".demo"))

DEBUG = os.environ.get("DEBUG", "1") == "1"
# The stand-in for Telegram and the scenes' doors have no passwords: open where a developer is at work, on request else.
SANDBOX = os.environ.get("SANDBOX", "1" if DEBUG else "0") == "1"
PORT = os.environ.get("PORT", "8000")
SECRET_KEY = os.environ.get("SECRET_KEY", "the demo site's key: fine on this machine, never on the internet")
ALLOWED_HOSTS = os.environ.get("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]").split(",")

INSTALLED_APPS = [
    "daphne",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "rest_framework.authtoken",
    "crossmemory",
    "project",
    "project.sandbox",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "project.urls"
ASGI_APPLICATION = "project.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

DATABASES = {
    "default": dj_database_url.parse(
        os.environ.get("DATABASE_URL") or f"sqlite:///{DEMO_DIR / 'demo.sqlite3'}", conn_max_age=600
    )
}
BEST_OPTIONS: dict[str, dict[str, Any]] = {
    "django.db.backends.postgresql": {"server_side_binding": True, "prepare_threshold": 5},
    "django.db.backends.sqlite3": {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    },
}
DATABASES["default"]["OPTIONS"] = {
    **BEST_OPTIONS.get(DATABASES["default"]["ENGINE"], {}),
    **DATABASES["default"].get("OPTIONS", {}),
}

if url := os.environ.get("REDIS_URL"):
    CHANNEL_LAYERS = {"default": {"BACKEND": "channels_redis.core.RedisChannelLayer", "CONFIG": {"hosts": [url]}}}

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_PASSWORD_VALIDATORS: list[dict[str, str]] = []
LOGIN_REDIRECT_URL = "/demo/"
LOGOUT_REDIRECT_URL = "/accounts/login/"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("es", "Español")]
LOCALE_PATHS = [BASE_DIR / "project" / "locale"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = DEMO_DIR / "static"
STATIC_ROOT.mkdir(parents=True, exist_ok=True)  # WhiteNoise warns of a missing one
MEDIA_ROOT = DEMO_DIR / "media"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = DEBUG

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.TokenAuthentication",
    ],
}

# A real bot token speaks to the real Telegram, unless another address is given.
TELEGRAM_BOT_TOKEN = os.environ.get("TELEGRAM_BOT_TOKEN", "")
SANDBOX_TOKEN = "7000000001:sandbox-bot-token-for-the-demo-site"
SANDBOX_URL = f"http://127.0.0.1:{PORT}/sandbox/telegram"
TELEGRAM_API_URL = os.environ.get("TELEGRAM_API_URL") or (
    "https://api.telegram.org" if TELEGRAM_BOT_TOKEN else SANDBOX_URL
)

AGENT: dict[str, Any]
if model := os.environ.get("CROSSMEMORY_MODEL"):  # openai:…, anthropic:…, google:…
    AGENT = {
        "BACKEND": "crossmemory.agents.pydantic_ai.PydanticAIAgent",
        "OPTIONS": {
            "model": model,
            "base_url": os.environ.get("CROSSMEMORY_MODEL_BASE_URL", ""),
            "instructions": "project.agents.INSTRUCTIONS",
            "tools": ["project.agents.ring_bell"],
        },
    }
else:
    AGENT = {
        "BACKEND": "project.agents.HarbourAgent",
        # The demo's agent writes at a reader's pace, so that streaming and a kill in mid-answer can be seen.
        "OPTIONS": {"pace": float(os.environ.get("DEMO_PACE", "0.04"))},
    }

CROSSMEMORY = {
    "AGENTS": {"default": AGENT},
    "SURFACES": {
        "web": {"BACKEND": "crossmemory.surfaces.web.WebSurface"},
        "telegram": {
            "BACKEND": "crossmemory.surfaces.telegram.TelegramSurface",
            "OPTIONS": {
                "label": "Telegram",
                "token": TELEGRAM_BOT_TOKEN or SANDBOX_TOKEN,
                "api_url": TELEGRAM_API_URL,
                # Known before the bot has ever run; a real bot's name is learned from Telegram.
                "username": "" if TELEGRAM_BOT_TOKEN else "crossmemory_demo_bot",
                "site_url": f"http://127.0.0.1:{PORT}/demo/",
            },
        },
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "loggers": {"crossmemory": {"handlers": ["console"], "level": os.environ.get("LOG_LEVEL", "INFO")}},
}
