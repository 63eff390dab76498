"""Text of others on a terminal: nothing in it can move the cursor, reorder what is read, or hide.

Character by character, so that a text which arrives in pieces comes out as it would whole.
"""

import unicodedata

_DROPPED = {
    "\r",
    *map(chr, (0x061C, 0x200E, 0x200F, 0x00AD, 0x200B, 0x2060, 0xFEFF)),  # direction marks, what nobody sees
    *map(chr, range(0x202A, 0x202F)),  # bidi embeddings and overrides
    *map(chr, range(0x2066, 0x206A)),  # bidi isolates
    *map(chr, range(0xE0000, 0xE0080)),  # tags: a whole text can hide in them
}


def harmless(text: str) -> str:
    """A text of several lines that shows what it says. Control characters become their pictures (␛)."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def one_line(text: str) -> str:
    """The same in one line, for titles and names."""
    return " ".join(harmless(text).split())


def _shown(char: str) -> str:
    code = ord(char)
    if char == "\n":
        return char
    if char == "\t":
        return "    "
    if char in _DROPPED:
        return ""
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if 0x80 <= code < 0xA0 or 0xD800 <= code < 0xE000:
        return "\N{REPLACEMENT CHARACTER}"
    if code in (0x2028, 0x2029):
        return "\n"
    return char


def columns(text: str) -> int:
    """How many columns a terminal gives to a line (wcwidth, by the Unicode version of this Python)."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """As much of a line as fits into so many columns."""
    if columns(text) <= width:
        return text
    kept: list[str] = []
    used = 0
    for char in text:
        used += _columns(char)
        if used > width - 1:
            return "".join(kept) + "…"
        kept.append(char)
    return text


class Wrapper:
    """Breaks text that arrives in pieces into lines of at most `width` columns; the last, unfinished one is `tail`."""

    def __init__(self, width: int) -> None:
        self.width, self.tail = width, ""

    def feed(self, text: str) -> list[str]:
        lines: list[str] = []
        for index, part in enumerate(text.split("\n")):
            if index:
                lines.append(self.flush())
            self.tail += part
            while columns(self.tail) > self.width:
                line, self.tail = self._broken()
                lines.append(line)
        return lines

    def flush(self) -> str:
        line, self.tail = self.tail, ""
        return line

    def _broken(self) -> tuple[str, str]:
        used = end = 0
        while end < len(self.tail) and used + _columns(self.tail[end]) <= self.width:
            used += _columns(self.tail[end])
            end += 1
        end = max(end, 1)
        space = self.tail.rfind(" ", 0, end + 1)
        if space > 0:
            return self.tail[:space], self.tail[space + 1 :]
        return self.tail[:end], self.tail[end:]
