"""An answer (Markdown) as Telegram messages: format, then split. Formatting goes as entities, so nothing is escaped."""

import html
import re
from collections import Counter
from functools import lru_cache
from typing import Any

from django.utils.translation import gettext as _

from crossmemory.clean import clean, is_blank
from crossmemory.surfaces.base import Piece
from crossmemory.surfaces.telegram.splitting import Entity, split, units

MAX_LENGTH = 4096  # UTF-16 code units, https://core.telegram.org/bots/api#sendmessage

#: kinds of entities that messages may carry; others of the converter are left out
_KINDS = frozenset(
    {
        "bold",
        "italic",
        "underline",
        "strikethrough",
        "spoiler",
        "blockquote",
        "expandable_blockquote",
        "code",
        "pre",
        "text_link",
    }
)
#: code as it is (a fence, or between backticks), or in the text around it the start of a tag or of a "spoiler"
_CODE_OR_TAG = re.compile(
    r"(?sm)^ {0,3}(```+|~~~+).*?(?:^ {0,3}\1|\Z)"
    r"|(?<!`)(`+)(?!`).+?(?<!`)\2(?!`)"
    r"|(?<!\\)<(?=[a-zA-Z/!?])|(?<!\\)\|\|"
)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_AUTOLINK = re.compile(r"<[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*>|<[^\s<>@]+@[^\s<>]+>")
_WORD = re.compile(r"[^\W_]+")
_NUMBERING = re.compile(r"(?m)^[ >]*\d+[.)] ")


def render(text: str) -> list[Piece]:
    """The messages that say `text`; at least one, none of them empty."""
    text = clean(text)
    if is_blank(text):
        return [Piece(_("I have no answer to that."))]
    shown, entities = _formatted(text)
    pieces = split(shown, entities, MAX_LENGTH)
    alone = len(pieces) == 1 and units(text) <= MAX_LENGTH
    return [_piece(part, dressed, text if alone else None) for part, dressed in pieces]


def preview(text: str) -> Piece:
    """The end of an answer that is still being written, as one message; of what is longer, the last part."""
    pieces = render(_closed(text))
    last = pieces[-1]
    if len(pieces) == 1:
        return last
    shown = Piece(f"…\n{last.text}", last.payload)
    if units(shown.text) > MAX_LENGTH:
        return last
    moved = [{**entity, "offset": entity["offset"] + 2} for entity in last.payload.get("entities", [])]
    return Piece(shown.text, {"entities": moved} if moved else {})


def _closed(text: str) -> str:
    """A code fence that is still open is closed, so that what stands in it is shown as code."""
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is None:
            continue
        if not fence:
            fence = mark[1]
        elif mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
    return f"{text.rstrip()}\n{fence}" if fence else text


def _piece(text: str, entities: list[Entity], original: str | None) -> Piece:
    """A piece with what goes out instead when the platform refuses its markup: the original words."""
    payload: dict[str, Any] = {}
    if entities:
        payload["entities"] = [entity.as_json() for entity in entities]
        payload["plain"] = original or _with_addresses(text, entities)
    return Piece(text, payload)


def _formatted(text: str) -> tuple[str, list[Entity]]:
    """Words and entities; the text as it is where formatting would lose any of its words."""
    from telegramify_markdown import convert

    try:
        shown, found = convert(_tags_as_text(text), latex_escape=False, config=_signs())
    except Exception:  # a converter's trouble with an odd text is no reason to lose the answer
        return text, []
    shown = clean(shown).rstrip()
    whole = units(shown)
    entities = [
        Entity(entity.type, entity.offset, min(entity.length, whole - entity.offset), entity.url, entity.language)
        for entity in found
        if entity.type in _KINDS and 0 <= entity.offset < whole and entity.length > 0
    ]
    if is_blank(shown) or _loses_words(text, shown, entities):
        return text, []
    return shown, entities


def _tags_as_text(text: str) -> str:
    """Raw HTML is shown as text, as on the web (the converter would drop it, words and all), and `||` stays `||`."""

    def escaped(match: re.Match[str]) -> str:
        found, place = match.group(), match.start()
        if found == "||":
            in_table = text[text.rfind("\n", 0, place) + 1 : place + 1].lstrip().startswith("|")
            return found if in_table else "\\|\\|"
        return "\\<" if found == "<" and not _AUTOLINK.match(text, place) else found

    return _CODE_OR_TAG.sub(escaped, text)


def _loses_words(text: str, shown: str, entities: list[Entity]) -> bool:
    original = html.unescape(_NUMBERING.sub(" ", text))
    addresses = " ".join(f"{entity.url or ''} {entity.language or ''}" for entity in entities)
    have = Counter(_WORD.findall(f"{html.unescape(shown)} {html.unescape(addresses)}"))
    return bool(Counter(_WORD.findall(original)) - have)


def _with_addresses(text: str, entities: list[Entity]) -> str:
    """A piece without markup, its links' addresses written out as far as they fit."""
    encoded = text.encode("utf-16-le")
    links = [entity for entity in entities if entity.type == "text_link" and entity.url]
    for entity in sorted(links, key=lambda entity: entity.offset, reverse=True):
        end = (entity.offset + entity.length) * 2
        encoded = encoded[:end] + f" ({entity.url})".encode("utf-16-le") + encoded[end:]
    written = encoded.decode("utf-16-le", "replace")
    return written if units(written) <= MAX_LENGTH else text


@lru_cache(maxsize=1)
def _signs() -> Any:
    """The converter without its own pictures: an answer's words are the agent's."""
    from telegramify_markdown.config import RenderConfig

    config = RenderConfig.isolated()
    signs = config.markdown_symbol
    for level in (1, 2, 3, 4):
        setattr(signs, f"heading_level_{level}", "")
    signs.image = signs.link = ""
    signs.unordered_list_item = "•"
    signs.task_completed, signs.task_uncompleted = "☑", "☐"
    return config
