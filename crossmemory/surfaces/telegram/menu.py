"""The list of commands that Telegram offers: https://core.telegram.org/bots/api#setmycommands"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from telegram import Bot

logger = logging.getLogger(__name__)


async def publish(bot: Bot, menus: Mapping[str, Sequence[tuple[str, str]]]) -> None:
    """Offer each language's commands in private chats; "" is for all other languages. A menu is a convenience: what
    goes wrong is logged, and that is all."""
    from telegram import BotCommandScopeAllPrivateChats
    from telegram.error import TelegramError

    for language, commands in menus.items():
        try:
            await bot.set_my_commands(
                [(name, does[:256]) for name, does in commands],
                scope=BotCommandScopeAllPrivateChats(),
                language_code=language or None,
            )
        except TelegramError as error:
            logger.warning("The menu of commands (%s) was not set: %s", language or "default", error)
