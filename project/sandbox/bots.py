"""Which bot is meant: by its token in a Bot API call, by choice in a door."""

import re

from django.conf import settings
from django.db import IntegrityError

from .errors import ApiError, DoorError
from .models import Bot

TOKEN = re.compile(r"(\d{1,18}):([A-Za-z0-9_-]{1,128})")
FALLBACK_TOKEN = "7000000001:sandbox-bot-token-for-the-demo-site"


def from_token(token: str) -> Bot:
    """The bot of ``token``, made at its first use. Raises ApiError 401 for a malformed or wrong token."""
    match = TOKEN.fullmatch(token)
    if match is None:
        raise ApiError(401, "Unauthorized")
    bot_id, secret = int(match[1]), match[2]
    bot = Bot.objects.filter(pk=bot_id).first() or _create(bot_id, secret)
    if bot.secret != secret:
        raise ApiError(401, "Unauthorized")
    return bot


def _create(bot_id: int, secret: str) -> Bot:
    options = _options()
    ours = str(options.get("token", FALLBACK_TOKEN)).partition(":")[0] == str(bot_id)
    username = str(options.get("username") or "crossmemory_demo_bot") if ours else f"sandbox_{bot_id}_bot"
    bot = Bot(id=bot_id, secret=secret, username=username, first_name="Crossmemory" if ours else f"Bot {bot_id}")
    try:
        bot.save(force_insert=True)
    except IntegrityError:  # somebody else's first call came between
        return Bot.objects.get(pk=bot_id)
    return bot


def choose(wanted: str = "") -> Bot:
    """The bot that a door speaks for: the one named by id or username, else the only one that ever called,
    else the one in the settings."""
    if wanted:
        found = Bot.objects.filter(pk=int(wanted)) if wanted.isdecimal() else Bot.objects.filter(username=wanted)
        if bot := found.first():
            return bot
        if configured().username != wanted:
            raise DoorError(f"no bot is known as {wanted!r}: it has to call getMe first", 404)
        return configured()
    called = list(Bot.objects.filter(called=True)[:2])
    if len(called) == 1:
        return called[0]
    return configured()


def configured() -> Bot:
    """The bot whose token stands in the settings."""
    try:
        return from_token(str(_options().get("token", FALLBACK_TOKEN)))
    except ApiError as error:
        raise DoorError(
            'the token in CROSSMEMORY["SURFACES"]["telegram"]["OPTIONS"] is not the known one', 409
        ) from error


def _options() -> dict[str, object]:
    surfaces = getattr(settings, "CROSSMEMORY", {}).get("SURFACES", {})
    options = surfaces.get("telegram", {}).get("OPTIONS", {})
    return options if isinstance(options, dict) else {}
