"""Other people's words inside a message, marked as such so that neither a person nor a model takes them for more.

Every line of what is quoted or forwarded begins with `> `, whatever line ends it has, and a name is one short line
without brackets: no text and no name can end the frame it stands in.
"""

import unicodedata

QUOTE_LENGTH = 500  # characters of what a message answers; the whole of it stands in the history
_NAME_LENGTH = 60
_BRACKETS = str.maketrans(
    {"[": "(", "]": ")", "\N{LEFT DOUBLE QUOTATION MARK}": "'", "\N{RIGHT DOUBLE QUOTATION MARK}": "'"}
)


def forwarded(words: str, origin: str) -> str:
    """Words that somebody passes on, of which they are not the author."""
    return f"[forwarded from {named(origin) or 'somebody'}]\n{quoted(words)}"


def answering(words: str, quote: str, by: str) -> str:
    """Words about something that was said before. `by`: whose words those are, empty when that does not matter."""
    short = quote if len(quote) <= QUOTE_LENGTH else f"{quote[:QUOTE_LENGTH]}…"
    who = named(by)
    return f"[{f'about what {who} said' if who else 'about'}]\n{quoted(short)}\n{words}"


def quoted(words: str) -> str:
    """Each line marked; `splitlines` knows every line end there is."""
    return "\n".join(f"> {line}" for line in words.splitlines())


def named(name: str) -> str:
    """What somebody calls themselves, as one harmless line."""
    visible = "".join(" " if unicodedata.category(each)[0] in "CZ" else each for each in name)
    return " ".join(visible.translate(_BRACKETS).split())[:_NAME_LENGTH].strip()
