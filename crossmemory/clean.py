"""Text that databases, JSON encoders and sockets accept."""

import re
from typing import Any

_REFUSED = re.compile("[\x00\ud800-\udfff]")
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """`text` with NUL (PostgreSQL refuses it) and lone surrogates (UTF-8 refuses them) replaced by U+FFFD.

    A surrogate *pair* that arrives as two code points, as some JSON decoders leave it, becomes its character.
    """
    if _REFUSED.search(text) is None:
        return text
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\x00", _REPLACEMENT)


def clean_json(value: Any) -> Any:
    """A JSON value with every string in it cleaned, keys included."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): clean_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean_json(item) for item in value]
    return value


#: white space, what Unicode calls ignorable (https://www.unicode.org/reports/tr44/#Default_Ignorable_Code_Point), and
#: the empty Braille cell
_INVISIBLE = re.compile(
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)


def is_blank(text: str) -> bool:
    """Whether a reader would see nothing."""
    return _INVISIBLE.fullmatch(text) is not None
