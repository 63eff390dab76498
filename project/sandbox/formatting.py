"""Texts and their entities as Telegram stores them. Offsets and lengths are UTF-16 code units.

Rules: https://core.telegram.org/bots/api#messageentity and #formatting-options, and what the public server answers.
"""

import re
from html.parser import HTMLParser
from typing import Any

from .errors import ApiError, bad_request

MAX_TEXT = 4096
CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
FOUND = re.compile(
    r"(?P<url>https?://[^\s<>\"]+[^\s<>\".,;:!?)\]'])|(?<![\w/<>@])(?P<bot_command>/[A-Za-z0-9_]{1,64}(?:@\w{3,32})?)(?![\w/<>@])"
)
TAGS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
    "tg-spoiler": "spoiler",
    "a": "text_link",
}

Entity = dict[str, Any]


def units(text: str) -> int:
    """Length in UTF-16 code units; a lone surrogate counts one."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def storable(value: Any) -> Any:
    """``value`` with NUL and other controls as spaces and lone surrogates replaced, in every string inside."""
    if isinstance(value, str):
        text = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return CONTROLS.sub(" ", text.replace("\r", ""))
    if isinstance(value, list):
        return [storable(item) for item in value]
    if isinstance(value, dict):
        return {storable(key): storable(item) for key, item in value.items()}
    return value


def detect(text: str, taken: list[Entity] | None = None) -> list[Entity]:
    """Find commands and links in ``text``, apart from where ``taken`` already says something."""
    spans = [(e["offset"], e["offset"] + e["length"]) for e in taken or []]
    found: list[Entity] = []
    for match in FOUND.finditer(text):
        start = units(text[: match.start()])
        end = start + units(match.group())
        if not any(start < stop and begin < end for begin, stop in spans):
            found.append({"type": str(match.lastgroup), "offset": start, "length": end - start})
    return found


def accept(
    text: str, entities: list[Any] | None, parse_mode: str, *, limit: int = MAX_TEXT
) -> tuple[str, list[Entity]]:
    """Check and tidy what a bot wants to send; return the text and all its entities in order.

    Telegram trims white space at both ends, but never what an entity covers at the beginning.
    """
    text = storable(text)
    if parse_mode and entities is None:
        text, given = parse(text, parse_mode)
    else:
        given = [checked(entity, units(text)) for entity in entities or []]
    text, given = trim(text, given)
    if not text:
        raise bad_request("message text is empty")
    if units(text) > limit:
        raise bad_request("message is too long")
    return text, sorted(given + detect(text, given), key=lambda e: (e["offset"], -e["length"]))


def checked(entity: Any, size: int) -> Entity:
    if not isinstance(entity, dict) or not isinstance(entity.get("type"), str):
        raise bad_request("can't parse MessageEntity: expected an Object with a type")
    offset, length = entity.get("offset"), entity.get("length")
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length < 0:
        raise bad_request("can't parse MessageEntity: offset and length must be non-negative numbers")
    if offset + length > size:
        raise bad_request(
            f"entity beginning at UTF-16 offset {offset} ends after the end of the text "
            f"at UTF-16 offset {offset + length}"
        )
    return {key: value for key, value in storable(entity).items() if value is not None}


def trim(text: str, entities: list[Entity]) -> tuple[str, list[Entity]]:
    text = text.rstrip()
    lead = units(text) - units(text.lstrip())
    lead = min([lead, *(e["offset"] for e in entities)])
    text = text[lead:]  # what is cut is white space, one UTF-16 unit each
    end = units(text)
    moved = []
    for entity in entities:
        offset = entity["offset"] - lead
        length = min(entity["length"], end - offset)
        if length > 0:
            moved.append({**entity, "offset": offset, "length": length})
    return text, moved


def parse(text: str, parse_mode: str) -> tuple[str, list[Entity]]:
    if parse_mode.lower() == "html":
        parser = _Html()
        parser.feed(text)
        parser.close()
        return parser.result()
    if parse_mode.lower() in ("markdown", "markdownv2"):
        raise ApiError(501, "Not Implemented: the sandbox reads parse_mode HTML or entities, not Markdown")
    raise bad_request("unsupported parse_mode")


class _Html(HTMLParser):
    """Telegram's small HTML; anything else is refused in the words of the real server."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._text = ""
        self._open: list[tuple[str, Entity]] = []
        self._done: list[Entity] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        kind = TAGS.get(tag)
        if tag == "span" and values.get("class") == "tg-spoiler":
            kind = "spoiler"
        if kind is None:
            raise bad_request(f'can\'t parse entities: Unsupported start tag "{tag}" at byte offset {self._at()}')
        entity: Entity = {"type": kind, "offset": units(self._text)}
        language = values.get("class") or ""
        if tag == "code" and language.startswith("language-") and self._open and self._open[-1][0] == "pre":
            self._open[-1][1]["language"] = language.removeprefix("language-")
            entity["type"] = ""
        if kind == "text_link":
            entity["url"] = values.get("href") or ""
        self._open.append((tag, entity))

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1][0] != tag:
            raise bad_request(f"can't parse entities: Unexpected end tag at byte offset {self._at()}")
        entity = self._open.pop()[1]
        entity["length"] = units(self._text) - entity["offset"]
        if entity["type"] and entity["length"]:
            self._done.append(entity)

    def handle_data(self, data: str) -> None:
        self._text += data

    def result(self) -> tuple[str, list[Entity]]:
        if self._open:
            raise bad_request(
                f"can't parse entities: Can't find end tag corresponding to start tag \"{self._open[-1][0]}\""
            )
        return self._text, self._done

    def _at(self) -> int:
        return len(self._text.encode())
