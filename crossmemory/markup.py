"""Markdown for the web: parsed by markdown-it-py, then sanitised by nh3, once, on the server, for every client."""

from functools import lru_cache

import nh3
from markdown_it import MarkdownIt

from crossmemory.clean import clean

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "code": {"class"}, "ol": {"start"}}
_SCHEMES = {"http", "https", "mailto", "tel"}


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    # Raw HTML is shown as text, and images are links: a picture that loads by itself tells its server who read it.
    return (
        MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"]).disable("image")
    )


def _whole_links(tag: str, name: str, value: str) -> str | None:
    """An address without a scheme would lead to a page of the site that shows the text, whichever that is."""
    return value if name != "href" or value.partition(":")[0].lower() in _SCHEMES else None


def to_html(markdown: str) -> str:
    """Safe HTML of a Markdown text: no scripts, styles, images or raw HTML; links http, https, mailto, tel only."""
    return nh3.clean(
        _parser().render(clean(markdown)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        attribute_filter=_whole_links,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
