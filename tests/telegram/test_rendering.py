"""Format, then split: nothing of an answer is lost, and nothing that people see as one is torn apart."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crossmemory.clean import clean, is_blank
from crossmemory.surfaces.telegram.graphemes import is_boundary
from crossmemory.surfaces.telegram.rendering import render
from crossmemory.surfaces.telegram.splitting import Entity, split, units

FAMILY = "👨‍👩‍👧‍👦"


@pytest.mark.parametrize(
    "text",
    ["file my_report.txt is ready", "5 * 3 < 20 & a_b", "<b>open tag", "<div>\nhello\n</div>", "x <3 y", "a || b || c"],
)
def test_what_is_no_markup_goes_out_as_it_is(text: str) -> None:
    (piece,) = render(text)
    assert (piece.text, piece.payload) == (text, {})


def test_markup_becomes_entities_in_utf_16_units() -> None:
    (piece,) = render("🎩 **bold** and `code` and [link](http://x_y.example)")
    assert piece.text == "🎩 bold and code and link"
    assert piece.payload["entities"] == [
        {"type": "bold", "offset": 3, "length": 4},
        {"type": "code", "offset": 12, "length": 4},
        {"type": "text_link", "offset": 21, "length": 4, "url": "http://x_y.example"},
    ]
    assert piece.payload["plain"] == "🎩 **bold** and `code` and [link](http://x_y.example)"


def test_tags_inside_code_stay_code() -> None:
    (piece,) = render("see `<b>` and\n\n```html\n<i>x</i> || y\n```")
    assert piece.text == "see <b> and\n\n<i>x</i> || y"
    assert [entity["type"] for entity in piece.payload["entities"]] == ["code", "pre"]


@pytest.mark.parametrize(
    "text",
    [
        "", "  \n\t", "\u200b\u2060", "\u2066\u2069", "\u3164", "\u2800\u2800", "\ufe0f", "\u00ad",
        "\U000e0020\U000e007f", "\u061c \u180e", "```\n\n```", "****", "<!-- -->", "#", "---",
    ],
)  # fmt: skip
def test_an_answer_without_words_is_one_short_sentence(text: str) -> None:
    (piece,) = render(text)
    assert not is_blank(piece.text)


def test_a_lone_surrogate_is_replaced_and_a_pair_is_kept() -> None:
    assert render("hat \ud83c\udfa9 tip")[0].text == "hat 🎩 tip"
    assert render("cut \ud83c")[0].text == "cut \ufffd"


def test_a_word_longer_than_a_message_is_cut_hard() -> None:
    assert [piece.text for piece in render("Q" * 5000)] == ["Q" * 4096, "Q" * 904]


def test_a_full_message_is_one_message() -> None:
    assert len(render("🎩" * 2048)) == 1
    assert [units(piece.text) for piece in render("🎩" * 2049)] == [4096, 2]


@pytest.mark.parametrize("cluster", [FAMILY, "🇳🇴", "👋🏽", "e\u0301", "क्षि", "🏴\U000e0067\U000e0062\U000e007f", "각"])
def test_a_character_is_not_torn_apart(cluster: str) -> None:
    pieces = [piece.text for piece in render("a" * (4097 - len(cluster)) + cluster + "Z")]
    assert len(pieces) == 2
    assert pieces[1].startswith(cluster)


def test_a_row_of_flags_is_cut_between_flags() -> None:
    pieces = render("🇳🇴" * 1500)
    assert all(len(piece.text) % 2 == 0 for piece in pieces)


def test_a_cluster_larger_than_a_message_is_cut_between_code_points() -> None:
    pieces = render("e" + "\u0301" * 9000)
    assert "".join(piece.text for piece in pieces) == "e" + "\u0301" * 9000


def test_a_code_fence_is_closed_and_opened_again_at_a_line() -> None:
    pieces = render("```py\n" + "a line of code\n" * 600 + "```")
    assert len(pieces) > 1
    for piece in pieces:
        (fence,) = piece.payload["entities"]
        assert (fence["type"], fence["language"], fence["offset"]) == ("pre", "py", 0)
        assert set(piece.text.split("\n")) <= {"a line of code", ""}


def test_an_inline_entity_moves_to_the_next_message_as_a_whole() -> None:
    pieces = render("word " * 818 + "[a link of some words](http://example.test)")
    assert pieces[0].payload == {}
    assert pieces[1].payload["entities"][0]["length"] == len("a link of some words")


def test_paragraphs_are_preferred() -> None:
    pieces = render("\n\n".join(["one sentence. " * 100] * 5))
    assert all(piece.text.startswith("one sentence") for piece in pieces)


def test_links_of_a_refused_piece_keep_their_address() -> None:
    pieces = render("[a](http://example.test/a) " + "word " * 500 + "\n\n" + "word " * 500)
    assert pieces[0].payload["plain"].startswith("a (http://example.test/a) word")


TEXT = st.text(st.characters() | st.sampled_from("🇳🇴\u200d\u0301👋🏽क्ष\n *_`[]<>|# "), max_size=60)


@given(TEXT, st.integers(2, 12), st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=3))
def test_splitting_loses_nothing(text: str, limit: int, spans: list[tuple[int, int]]) -> None:
    text = clean(text)
    entities = [Entity("bold", offset, length) for offset, length in spans if offset + length <= units(text)]
    pieces = split(text, entities, limit)
    assert all(units(piece) <= limit and not is_blank(piece) for piece, _ in pieces)
    rest = text
    for piece, _ in pieces:  # what is missing between pieces is nothing that anybody would see
        skipped, found, rest = rest.partition(piece)
        assert found
        assert is_blank(skipped)
    assert is_blank(rest)
    for piece, dressed in pieces:
        assert all(e.offset >= 0 and e.length > 0 and e.offset + e.length <= units(piece) for e in dressed)


@settings(max_examples=50)
@given(st.lists(TEXT, max_size=5))
def test_no_word_of_an_answer_is_lost(parts: list[str]) -> None:
    words = [f"w{index}x" for index in range(len(parts))]
    pieces = render("\n".join(f"{word} {part}" for word, part in zip(words, parts, strict=True)))
    sent = "\n".join(f"{piece.text} {piece.payload}" for piece in pieces)
    assert all(word in sent for word in words)


@given(st.text(max_size=20))
def test_a_cut_is_possible_at_the_ends(text: str) -> None:
    assert is_boundary(text, 0)
    assert is_boundary(text, len(text))
