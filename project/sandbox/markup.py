"""Keyboards under a message: https://core.telegram.org/bots/api#inlinekeyboardmarkup"""

from typing import Any

from .errors import bad_request
from .formatting import storable


def checked(markup: dict[str, Any] | None) -> dict[str, Any] | None:
    """``markup`` when Telegram would take it. Raises ApiError 400 otherwise."""
    if not markup:
        return None
    markup = storable(markup)
    if "inline_keyboard" not in markup:
        return markup
    rows = markup["inline_keyboard"]
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise bad_request('field "inline_keyboard" must be an Array of Arrays')
    for button in (button for row in rows for button in row):
        if not isinstance(button, dict) or not str(button.get("text") or "").strip():
            raise bad_request("inline keyboard button text is empty")
        if "callback_data" in button and not 1 <= len(str(button["callback_data"]).encode()) <= 64:
            raise bad_request("BUTTON_DATA_INVALID")
        if len(button) < 2:
            raise bad_request("text buttons are unallowed in the inline keyboard")
    return markup if any(rows) else None


def callback_data(markup: dict[str, Any] | None) -> list[str]:
    """What can be pressed under a message."""
    rows = (markup or {}).get("inline_keyboard", [])
    return [str(b["callback_data"]) for row in rows for b in row if "callback_data" in b]
