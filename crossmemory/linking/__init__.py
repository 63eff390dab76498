"""Linking: the proof that an outside account belongs to a site user.

A signed-in person makes a code here and sends it from the outside account (`use_code`); then the site shows that
account's name and asks once (`confirm`). Nobody is ever joined by phone, e-mail or username.
"""

from crossmemory.linking.codes import CODE, GUESSES, create_code, use_code
from crossmemory.linking.connecting import confirm, refuse, unlink
from crossmemory.linking.errors import ExpiredCode, NoSuchLink, NotPrivate, TooManyGuesses, WrongCode
from crossmemory.linking.language import language_of, speak
from crossmemory.linking.links import accounts, active, ended, seen, set_approvals
from crossmemory.linking.sharing import (
    agent_of,
    conversation_of,
    existing_conversation,
    set_exchange,
    set_sharing,
    would_be,
)

__all__ = [
    "CODE",
    "GUESSES",
    "ExpiredCode",
    "NoSuchLink",
    "NotPrivate",
    "TooManyGuesses",
    "WrongCode",
    "accounts",
    "active",
    "agent_of",
    "confirm",
    "conversation_of",
    "create_code",
    "ended",
    "existing_conversation",
    "language_of",
    "refuse",
    "seen",
    "set_approvals",
    "set_exchange",
    "set_sharing",
    "speak",
    "unlink",
    "use_code",
    "would_be",
]
