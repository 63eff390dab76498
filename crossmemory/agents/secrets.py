"""Keys stay out of logs, errors and pages, also where a provider or a library repeats them."""

import re
from collections.abc import Iterable

HIDDEN = "(key)"
#: how keys look that a provider may repeat although they are not the one that was sent
_KEYS = re.compile(
    r"\b(?:sk|pk|rk)-[A-Za-z0-9_\-*]{6,}|\bAIza[A-Za-z0-9_\-]{10,}"
    r"|(?<=[Bb]earer )[^\s'\",}]{4,}|(?<=x-api-key: )\S+|(?<=x-goog-api-key: )\S+|(?<=[?&]key=)[^\s&'\"]+"
)


def hide(text: str, secrets: Iterable[str]) -> str:
    """`text` without the secrets, and without what looks like a key."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _KEYS.sub(HIDDEN, text)
