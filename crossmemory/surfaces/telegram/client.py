"""The Bot API's client, python-telegram-bot's `Bot`: imported only where it is used, and quiet about the token."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from telegram import Bot

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0  # for everything but a long poll


def make_bot(token: str, api_url: str, *, connections: int = 16) -> Bot:
    """A client with a pool of its own. Raises ImportError without the extra `telegram`."""
    from telegram import Bot
    from telegram.request import HTTPXRequest

    _keep_quiet(token)
    pool: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": ANSWER_SECONDS,
        "write_timeout": ANSWER_SECONDS,
        "pool_timeout": CONNECT_SECONDS,
    }
    base = api_url.rstrip("/")
    request = HTTPXRequest(connection_pool_size=connections, **pool)
    return Bot(
        token,
        base_url=f"{base}/bot",
        base_file_url=f"{base}/file/bot",
        request=request,
        get_updates_request=request,
    )


async def close(bot: Bot) -> None:
    """Close a client's connections, whether or not it was ever used."""
    await bot.request.shutdown()


def without(token: str, words: str) -> str:
    """`words` with the token taken out, also in the form that addresses of files have it in."""
    for form in (token, quote(token, safe=""), token.partition(":")[2]):
        words = words.replace(form, "<token>") if form else words
    return words


class _WithoutToken(logging.Filter):
    """Takes the token out of what libraries log: it stands in every address of the Bot API."""

    def __init__(self, token: str) -> None:
        super().__init__()
        self.token = token

    def filter(self, record: logging.LogRecord) -> bool:
        message = record.getMessage()
        if (harmless := without(self.token, message)) != message:
            record.msg, record.args = harmless, None
        return True


_quiet: set[str] = set()


def _keep_quiet(token: str) -> None:
    """Addresses hold the token: httpx logs each, so it is silenced, and a filter stands behind it."""
    if token in _quiet:
        return
    _quiet.add(token)
    for name in ("httpx", "httpcore", "telegram", "telegram.Bot", "telegram.request.BaseRequest", "asyncio"):
        logging.getLogger(name).addFilter(_WithoutToken(token))
    for name in ("httpx", "httpcore"):
        logger = logging.getLogger(name)
        if logger.level < logging.WARNING:
            logger.setLevel(logging.WARNING)
