"""Telegram, through the Bot API: https://core.telegram.org/bots/api"""

from crossmemory.surfaces.telegram.surface import TelegramSurface

__all__ = ["TelegramSurface"]
