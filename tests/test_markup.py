"""What agents and people write is words on the web: nothing of it runs, loads by itself or leads to a program."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crossmemory.markup import to_html

LINKS = ("http://", "https://", "mailto:", "tel:")
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {("a", "href"), ("a", "title"), ("a", "rel"), ("code", "class"), ("ol", "start")}


class Seen(HTMLParser):
    """Checks what a browser would make of it."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        assert {(tag, name) for name, _ in attrs} <= ATTRIBUTES
        values = dict(attrs)
        if "href" in values:
            assert str(values["href"]).lower().startswith(LINKS)
            assert set(str(values["rel"]).split()) >= {"noopener", "noreferrer"}

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


def harmless(markdown: str) -> str:
    html = to_html(markdown)
    Seen(convert_charrefs=True).feed(html)
    return html


@pytest.mark.parametrize(
    "text",
    [
        "[x](javascript:alert(1))", "![a](javascript:alert`1`)", "<img src=x onerror=alert(1)>",
        "![p](https://collector.example/p.png?d=SECRET)", "[x](JaVaScRiPt:alert(1))",
        "<details open ontoggle=alert(1)>", "[d](data:text/html;base64,PHNjcmlwdD4=)",
        "```html\n<script>1</script>\n```",
        "[x](java\nscript:alert(1))", "[x](&#106;avascript:alert(1))", "[x](\x01javascript:alert(1))",
        "[x](vbscript:msgbox(1))", "<javascript:alert(1)>", "[x]: javascript:alert(1)\n\n[x]", "[x](//evil.example)",
        "[x](/relative)", "[x](file:///etc/passwd)", "<svg/onload=alert(1)>", "<a href='x' style='x'>y</a>",
        "<!-- x -->",
        "[x](https://a.example \"\" onmouseover=alert(1) \")", "`<b onclick=alert(1)>`", "<iframe srcdoc='<script>'>",
        "```x\" onload=alert(1)\nx\n```", "<math><mtext></mtext><script>1</script></math>",
        "<base href=//evil.example>",
    ],
)  # fmt: skip
def test_nothing_runs_or_loads_by_itself(text: str) -> None:
    harmless(text)


def test_what_is_code_is_shown() -> None:
    assert "&lt;script&gt;1&lt;/script&gt;" in harmless("```html\n<script>1</script>\n```")
    assert "&lt;img" in harmless("<img src=x onerror=alert(1)>")


def test_a_picture_is_a_link_that_somebody_may_follow() -> None:
    html = harmless("![p](https://collector.example/p.png)")
    assert "<img" not in html
    assert "p.png" in html


@pytest.mark.parametrize(
    "link", ["https://a.example/x?y=1&z=2", "http://a.example", "mailto:a@b.example", "tel:+15550100"]
)
def test_links_that_lead_somewhere_stay(link: str) -> None:
    assert re.search(r'href="[^"]+"', harmless(f"[x]({link})"))


@pytest.mark.parametrize("text", ["\u202egnp.exe", "\u0634\u0644\u0648\u0645 123 abc!", "\u2066x\u2069", "a\u200db"])
def test_marks_of_direction_are_words_like_others(text: str) -> None:
    """The page sets each text apart; nothing is taken out of it."""
    assert text in harmless(f"see {text} here")


HOSTILE = st.sampled_from(
    ["<", ">", "[", "](", ")", "!", "javascript:", "data:", "`", "\n", '"', "'", "=", "onerror", "<img ", "<a ", "src",
     "href", "&#106;", "\x00", "<script>", "</", "<!--", "-->", "|", "*", "\\", "https://x.example/", " "]
)  # fmt: skip


@given(st.lists(HOSTILE | st.text(max_size=3), max_size=25).map("".join))
def test_no_mixture_of_it_does_either(text: str) -> None:
    harmless(text)
