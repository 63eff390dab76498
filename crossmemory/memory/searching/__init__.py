"""Searching beyond the window: what somebody said, found by words, with what was said around it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AbstractBaseUser
from django.db.backends.base.base import BaseDatabaseWrapper

from crossmemory import db
from crossmemory.memory.searching import ranking, words
from crossmemory.memory.searching.around import Around
from crossmemory.memory.searching.index import index_of, read_only
from crossmemory.memory.searching.scope import Scope, count
from crossmemory.memory.searching.words import Term
from crossmemory.memory.types import Remembered
from crossmemory.models import DEFAULT_AGENT, Message, Owner

MOST = 100  # results of one search
_CANDIDATES = 300  # newest messages with one word that are compared
_GIVING = 60  # best messages that give a part of their score to their neighbours
_GUESSABLE = 4  # letters of a word that may have a slip in it
_VARIANTS = 8  # words that one that nobody wrote may be meant by


@dataclass(frozen=True, slots=True)
class Found:
    """A message that fits, how well (comparable within one search), and what was said just before and after it."""

    message: Remembered
    score: float
    before: tuple[Remembered, ...] = ()
    after: tuple[Remembered, ...] = ()


def search(
    user: AbstractBaseUser,
    query: str,
    agent: str | None = DEFAULT_AGENT,
    *,
    surfaces: Sequence[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int = 10,
    offset: int = 0,
    remembered: bool = True,
) -> list[Found]:
    """What the user and the agent said that fits the query, best first, however long ago.

    Finds words in any form, with or without accents, with a slip in them, and parts of scripts without spaces. What
    memory leaves out is not found; with `remembered=False` neither is anything else that the person cannot read, but
    all that they can. `agent=None` looks at all of them. At most MOST results; a query without a word finds nothing.
    """
    scope = Scope(Owner.of(user, agent), remembered, None, surfaces, since, until)
    return find(scope, query, limit=limit, offset=offset)


def find(scope: Scope, query: str, *, limit: int = 10, offset: int = 0, without: Collection[int] = ()) -> list[Found]:
    """The same for a scope: the best that are not among the keys `without`."""
    limit, offset = max(0, min(limit, MOST)), max(0, offset)
    wanted = words.terms(query)
    if not wanted or not limit:
        return []
    connection = db.connection_for(Message)
    with read_only(connection):
        rows, scores = _scored(connection, scope, wanted)
        around = Around(connection, scope, rows)
        scores = ranking.with_neighbours(scores, around.of(ranking.best(scores, _GIVING)))
        left = {key: score for key, score in scores.items() if key not in without}
        shown = ranking.best(left, offset + limit)[offset:]
        around.of([key for key in shown if not around.knows(key)])
    return [Found(rows[key], scores[key], around.before(key), around.after(key)) for key in shown]


def _scored(
    connection: BaseDatabaseWrapper, scope: Scope, wanted: Sequence[Term]
) -> tuple[dict[int, Remembered], dict[int, float]]:
    """Messages that hold the words, by key, and how well they fit by those."""
    index = index_of(connection)
    rows, totals = index.find(connection, scope, wanted, _CANDIDATES)
    guessed: dict[Term, float] = {}
    for term in wanted:
        if totals.get(term) or term.piece or len(term.text) < _GUESSABLE:
            continue
        near = index.near(connection, scope, term, _CANDIDATES)
        rows.update(near)
        vocabulary = {word for message in near.values() for word in words.all_words(words.plain(message.text))}
        meant = sorted((word for word in vocabulary if words.may_be(word, term.text)), key=len)
        guessed.update({Term(word, words.stem(word)): ranking.GUESSED for word in meant[:_VARIANTS]})
    texts = {key: words.plain(message.text) for key, message in rows.items()}
    corpus = count(connection, scope)
    return rows, ranking.by_words(texts, [*wanted, *guessed], guessed, totals, corpus)


asearch = db.twin(search)
