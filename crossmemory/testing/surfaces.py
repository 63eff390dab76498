"""The contract that every surface keeps. Subclass it in the tests of a surface of your own:

class TestMySurface(SurfaceContract):
    def make(self) -> Surface: ...
    def said(self, text: str, sender: str = "5001") -> bytes: ...
    def away(self) -> AbstractAsyncContextManager[Surface]: ...
"""

import json
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from crossmemory.surfaces import Destination, Inbound, Piece, Surface

TEXTS = (
    "hello",
    "¿Qué tal, mañana?\nSí.",
    "a" * 3_000,
    "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL} \N{REGIONAL INDICATOR SYMBOL LETTER E}\N{REGIONAL INDICATOR SYMBOL LETTER S}",
    "\u202eturned around",
    "<b>*not* _markup_ [x](y) `z`",
)
#: answers as models write them, and the words in them that people must get
ANSWERS = (
    ("Yes.", "Yes"),
    (
        "# Title\n\nA **bold** word, `code`, and [a link](https://example.com/path).\n\n- one\n- two\n",
        "Title A bold word code and a link one two",
    ),
    ("```python\nprint('a')\n```\n" + "word " * 4_000, "print a" + " word" * 4_000),
    ("x" * 10_000, "x" * 10_000),
    (
        "\n\n".join(f"Paragraph {number} " + "with words " * 60 for number in range(30)),
        " ".join(f"Paragraph {number} " + "with words " * 60 for number in range(30)),
    ),
)
ODD: tuple[Any, ...] = (None, True, -1, 2**70, 1.5, "", "\ud800", [], [[]], {}, {"id": None})


class SurfaceContract:
    """What the inbox, the outbox and the runs rely on, whatever the platform."""

    def make(self) -> Surface:
        """The surface under test, as a site configures it."""
        raise NotImplementedError

    def said(self, text: str, sender: str = "5001") -> bytes:
        """An update, as the platform sends it, in which somebody says `text` in a one-to-one chat."""
        raise NotImplementedError

    def away(self) -> AbstractAsyncContextManager[Surface]:
        """The surface, while its platform cannot be reached."""
        raise NotImplementedError

    def length(self, text: str) -> int:
        """How long a text is in the platform's unit, which `max_length` counts."""
        return len(text)

    def test_its_checks_pass(self) -> None:
        assert self.make().check() == []

    def test_it_says_who_it_is(self) -> None:
        surface = self.make()
        assert isinstance(surface.account, str)
        assert 0 < len(surface.account) <= 64
        assert surface.label

    def test_what_a_person_says_comes_through(self) -> None:
        for text in TEXTS:
            found = self.make().parse(self.said(text))
            assert (found.kind, found.text, found.private) == ("text", text, True)
            assert found.sender
            assert found.chat
            assert all(isinstance(value, str) for value in (found.sender, found.chat, found.message_id, found.topic))

    def test_two_people_are_two(self) -> None:
        one, two = (self.make().parse(self.said("hello", sender)) for sender in ("5001", "5002"))
        assert one.sender != two.sender
        assert one.chat != two.chat

    def test_nothing_that_may_come_raises(self) -> None:
        surface = self.make()
        for raw in (*broken(self.said("hello")), *changed(self.said("hello"))):
            found = surface.parse(raw)
            assert isinstance(found, Inbound)
            assert found.reason or found.kind != "skip", raw[:200]

    def test_an_answer_fits_and_loses_no_word(self) -> None:
        surface = self.make()
        for answer, words in ANSWERS:
            pieces = surface.render(answer)
            assert all(isinstance(piece, Piece) and piece.text.strip() for piece in pieces)
            if surface.max_length is not None:
                assert max(self.length(piece.text) for piece in pieces) <= surface.max_length
            assert _within(words.replace(" ", ""), "".join(piece.text for piece in pieces))

    def test_an_answer_without_words_is_still_one(self) -> None:
        for answer in ("", "  \n", "\u200b"):
            assert all(piece.text.strip() for piece in self.make().render(answer))
            assert self.make().render(answer)

    async def test_trouble_is_an_outcome(self) -> None:
        async with self.away() as surface:
            for piece in surface.render("An answer."):
                there = Destination(surface.alias, surface.account, "5001")
                outcome = await surface.turn(there) or await surface.deliver(there, piece)
                assert outcome.fate in ("retry", "unknown", "rate_limited")
                assert outcome.error


def broken(raw: bytes) -> Iterator[bytes]:
    """An update that is cut anywhere, and what is none at all."""
    yield from (raw[:end] for end in range(len(raw)))
    yield from (b"null", b"[]", b"7", b'"text"', b"\xff\xfe\x00", b"[" * 5_000, b"{}")


def changed(raw: bytes) -> Iterator[bytes]:
    """A JSON update with each of its values replaced by odd ones, and each left out."""
    try:
        update = json.loads(raw)
    except ValueError:
        return
    for path in _paths(update):
        for odd in ODD:
            yield json.dumps(_replaced(update, path, odd)).encode()
        yield json.dumps(_replaced(update, path)).encode()


def _paths(value: Any) -> Iterator[tuple[Any, ...]]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(child))


def _replaced(value: Any, path: tuple[Any, ...], *odd: Any) -> Any:
    """A copy with one value replaced, or left out where there is none to put there."""
    copy = dict(value) if isinstance(value, dict) else list(value)
    first, *rest = path
    if rest:
        copy[first] = _replaced(copy[first], tuple(rest), *odd)
    elif odd:
        copy[first] = odd[0]
    else:
        del copy[first]
    return copy


def _within(plain: str, whole: str) -> bool:
    """Whether these characters stand in `whole` in order; there may be others between them."""
    rest = iter(whole)
    return all(character in rest for character in plain)


__all__ = ["SurfaceContract", "broken", "changed"]
