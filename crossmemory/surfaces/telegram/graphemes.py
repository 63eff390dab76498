"""Where a text may be cut without tearing apart what people see as one character.

The rules of Unicode's UAX #29 that matter for hard cuts, without its full tables: combining marks, emoji sequences,
flags, Hangul syllables, conjuncts.
"""

import unicodedata

_ZWJ = "\u200d"
_HALFWIDTH_MARKS = "\uff9e\uff9f"


def is_boundary(text: str, index: int) -> bool:
    """Whether `text` may be cut before the code point at `index`."""
    if index <= 0 or index >= len(text):
        return True
    before, after = text[index - 1], text[index]
    if before == "\r" and after == "\n":
        return False
    if _extends(after) or before == _ZWJ:
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        return _flag_letters_before(text, index) % 2 == 0
    if unicodedata.combining(before) == 9 and unicodedata.category(after) == "Lo":  # a virama joins consonants
        return False
    return not _same_syllable(before, after)


def boundary_at_or_before(text: str, index: int, start: int) -> int:
    """The last place to cut in (start, index]; `index` itself when one character is all there is."""
    for place in range(index, start, -1):
        if is_boundary(text, place):
            return place
    return index


def _extends(char: str) -> bool:
    if char == _ZWJ or char in _HALFWIDTH_MARKS:
        return True
    code = ord(char)
    if code < 0x300:
        return False
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or 0x1F3FB <= code <= 0x1F3FF  # skin tones
        or 0xE0020 <= code <= 0xE007F  # tags, as in the flags of regions
        or code == 0x200C
    )


def _is_flag_letter(char: str) -> bool:
    return 0x1F1E6 <= ord(char) <= 0x1F1FF


def _flag_letters_before(text: str, index: int) -> int:
    count = 0
    while index > count and _is_flag_letter(text[index - count - 1]):
        count += 1
    return count


def _same_syllable(before: str, after: str) -> bool:
    first, second = _hangul(before), _hangul(after)
    return (first, second) in {
        ("L", "L"), ("L", "V"), ("L", "LV"), ("L", "LVT"),
        ("LV", "V"), ("LV", "T"), ("V", "V"), ("V", "T"), ("LVT", "T"), ("T", "T"),
    }  # fmt: skip


def _hangul(char: str) -> str:
    code = ord(char)
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB:
        return "T"
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    return ""
