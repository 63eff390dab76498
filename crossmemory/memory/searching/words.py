"""From texts to words that can be compared: no case, no accents, no endings. Pure functions; for English and Spanish.

A stem is always the beginning of its word, so that the database finds candidates by prefix, whatever the language.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

MOST_CHARACTERS = 1000  # of a question; what is longer is cut
MOST_TERMS = 16  # of a question; the first ones count
LONGEST_WORD = 40  # characters of a word that the index holds

#: scripts that put no space between words: found by pairs of characters (the index in `postgresql` has the same)
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_ACCENTS = re.compile("[\u0300-\u036f]")
_PIECES = re.compile(rf"([{UNSPACED}]+)|([^\W_{UNSPACED}]+)")
#: ends where a word does
_REST = rf"[^\W_{UNSPACED}]*"
_START = rf"(?<![^\W_{UNSPACED}])"

_COMMON_ENGLISH = """
a about after again all also am an and any anything are as at be because been before being but by can could did do does
doing done for from get got had has have having he her hers him his how i if in into is it its just let like me might
more most much must my no not now of off on one only or other our out over own please said same say says shall she
should so some something such than that the their them then there these they thing things this those to too up upon us
very was we were what whatever when where which while who whom whose why will with would yes yet you your yours
"""
_COMMON_SPANISH = """
al algo alguna alguno algun ante antes aqui asi aun aunque cada como con cual cuando cuanto de del desde donde dos el
ella ellas ellos en entre era eran eres es esa esas ese eso esos esta estaba estan estar estas este esto estos estoy fue
fueron ha habia han hasta hay la las le les lo los mas mi mis mucho muy nada ni nos nosotros o os otra otro para pero
poco por porque que quien se sea ser si sin sobre solo son soy su sus tambien tan te tengo tiene tienen todo todos tu
tus un una uno unos usted y ya yo
"""
_COMMON = frozenset((_COMMON_ENGLISH + _COMMON_SPANISH).split())
_ENDINGS_ENGLISH = """
s es ed d ing ings er ers ly y ies ied e ment ments ness ion ions ation ations ational ive able al ally ful
"""
_ENDINGS_SPANISH = """
a o as os ia ias ado ada ados adas ido ida idos idas ando endo iendo ar er ir aba amos emos imos iste mente cion ciones
"""
_ENDINGS = sorted({*_ENDINGS_ENGLISH.split(), *_ENDINGS_SPANISH.split()}, key=lambda end: (-len(end), end))
_STEM = 3  # characters that stripping leaves at least
#: how short stems go on: a prefix of three letters would be the beginning of too many other words
_FORMS = ("", "s", "es", "ed", "d", "e", "ing", "er", "ers", "y", "ies", "a", "o", "as", "os", "ar", "ado", "ando")


@dataclass(frozen=True, slots=True)
class Term:
    """One thing to look for: a word, or a piece of a script without spaces (which is found inside of others)."""

    text: str
    stem: str
    piece: bool = False

    @property
    def forms(self) -> Sequence[str]:
        """The words that a short stem stands for; none: every word that begins with the stem is a candidate."""
        if self.piece or len(self.stem) > _STEM:
            return ()
        twice = self.stem + self.stem[-1]
        return sorted({self.text, *(self.stem + end for end in _FORMS), *(twice + end for end in ("ing", "ed", "er"))})


def plain(text: str) -> str:
    """Lower case, without accents; `ﬁ` is `fi` and full width is half."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).lower()


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """A plain word without its endings; `dentists` and `dentista` are both `dentist`."""
    for _twice in range(2):
        end = next((end for end in _ENDINGS if word.endswith(end) and len(word) - len(end) >= _STEM), None)
        if end is None:
            break
        word = word[: -len(end)]
    return word[:-1] if len(word) > _STEM and word[-1] == word[-2] else word


def terms(question: str) -> list[Term]:
    """What to look for, in the order it is asked for; the common words only when there are no others."""
    found = list({(term.stem, term.piece): term for term in _terms(plain(question[:MOST_CHARACTERS]))}.values())
    return ([term for term in found if term.text not in _COMMON] or found)[:MOST_TERMS]


def _terms(text: str) -> Iterator[Term]:
    for match in _PIECES.finditer(text):
        unspaced, word = match.groups()
        if unspaced:
            pairs = [unspaced[at : at + 2] for at in range(max(1, len(unspaced) - 1))]
            yield from (Term(pair, pair, piece=True) for pair in pairs)
        else:
            word = word[:LONGEST_WORD]
            yield Term(word, stem(word))


def all_words(text: str) -> list[str]:
    """The words of a plain text."""
    return [word for _unspaced, word in _PIECES.findall(text) if word]


class Counter:
    """Counts how often each of the terms stands in a text."""

    def __init__(self, wanted: Sequence[Term]) -> None:
        self._by_stem = {term.stem: term for term in wanted if not term.piece}
        self._pieces = [term for term in wanted if term.piece]
        stems = sorted(self._by_stem, key=len, reverse=True)
        self._pattern = re.compile(rf"{_START}(?:{'|'.join(map(re.escape, stems))}){_REST}") if stems else None

    def count(self, text: str) -> dict[Term, int]:
        """How often, of those that are there; `text` is plain."""
        counts: dict[Term, int] = {}
        if self._pattern is not None:
            for word in self._pattern.findall(text):
                if term := self._by_stem.get(stem(word[:LONGEST_WORD])):
                    counts[term] = counts.get(term, 0) + 1
        for piece in self._pieces:
            if found := text.count(piece.text):
                counts[piece] = found
        return counts


def may_be(word: str, of: str) -> bool:
    """Whether a plain word may be meant by another: one that begins with it, or from which it is a slip away."""
    return word.startswith(of) or is_typo(word, of)


def is_typo(word: str, of: str) -> bool:
    """Whether a plain word may be meant by another: one slip in a word of four to seven letters, two in longer ones.

    A slip is a letter too many, missing, another, or two that changed places. Numbers are never meant by others.
    """
    if word.isdecimal() or of.isdecimal():
        return False
    most = 0 if len(of) < 4 else 1 if len(of) < 8 else 2
    return abs(len(word) - len(of)) <= most and _distance(word, of, most) <= most


def _distance(one: str, other: str, most: int) -> int:
    """Slips between two words (optimal string alignment); more than `most` is `most + 1`."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        before, last, row = row, before, [i]
        for j, theirs in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != theirs))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == theirs:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
