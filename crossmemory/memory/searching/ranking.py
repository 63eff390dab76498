"""Which messages fit best: BM25 of the words, and a share of what fits next to a message. Pure functions.

A question is often answered by the message after the one that has its words. So each message that fits gives a part of
its score to those before and after it in its conversation.
"""

import math
from collections.abc import Mapping, Sequence

from crossmemory.memory.searching.words import Counter, Term

#: how fast further occurrences of a word count less, and how much a long message counts less (BM25's k1 and b)
_SATURATION, _LENGTH = 0.9, 0.3
#: the part of its score that a message gives to the next one on each side, and to the one after that
NEIGHBOURS = (0.5, 0.3)
#: what a word that was meant by another counts, of what the word itself does
GUESSED = 0.7


def by_words(
    texts: Mapping[int, str],
    wanted: Sequence[Term],
    weights: Mapping[Term, float],
    totals: Mapping[Term, int],
    corpus: int,
) -> dict[int, float]:
    """Scores of the plain texts that hold a word of the question, by key.

    `weights` of terms where they are not 1; `totals`: how many messages hold a term, where that is more than these
    texts show; `corpus`: how many messages there are.
    """
    counter = Counter(wanted)
    counts = {key: counter.count(text) for key, text in texts.items()}
    counts = {key: found for key, found in counts.items() if found}
    if not counts:
        return {}
    holding = {term: sum(term in found for found in counts.values()) for term in wanted}
    rarity = {term: _rarity(max(totals.get(term, 0), holding[term]), corpus) for term in wanted}
    mean = sum(len(texts[key]) for key in counts) / len(counts)
    scores = {}
    for key, found in counts.items():
        damped = _SATURATION * (1 - _LENGTH + _LENGTH * len(texts[key]) / mean)
        scores[key] = sum(
            weights.get(term, 1) * rarity[term] * count * (_SATURATION + 1) / (count + damped)
            for term, count in found.items()
        )
    return scores


def with_neighbours(scores: Mapping[int, float], around: Mapping[int, Mapping[int, int]]) -> dict[int, float]:
    """Scores with what neighbours give. `around` says, of each message that gives, who stands how far: {-1: key, …}."""
    total = dict(scores)
    for key, places in around.items():
        for distance, neighbour in places.items():
            if abs(distance) <= len(NEIGHBOURS):
                total[neighbour] = total.get(neighbour, 0) + NEIGHBOURS[abs(distance) - 1] * scores[key]
    return total


def best(scores: Mapping[int, float], count: int) -> list[int]:
    """Keys of the best, best first; of equals the newer one, as it may correct the older."""
    return sorted(scores, key=lambda key: (-scores[key], -key))[:count]


def _rarity(messages: int, corpus: int) -> float:
    return math.log(1 + (max(corpus, messages) - messages + 0.5) / (messages + 0.5))
