"""Paired timing: variants take turns within each round, so that what disturbs one disturbs the others too."""

import gc
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Times = Mapping[str, Sequence[float]]


@dataclass(frozen=True)
class Ratio:
    """Median, least and largest of what the rounds gave."""

    median: float
    least: float
    most: float


def take_turns(variants: Mapping[str, Callable[[], float]], rounds: int) -> Times:
    """Call every variant once a round; each returns its own seconds. A B C, B C A, C A B, …"""
    names = list(variants)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            times[name].append(variants[name]())
    return times


def each(calls: Iterable[Callable[[], object]]) -> float:
    """Seconds of a typical one of these calls: their median, as what else the machine does is not ours."""
    taken = []
    for call in calls:
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return median(taken)


def repeated(function: Callable[[], object], times: int) -> Callable[[], float]:
    """A variant that calls a function so many times."""
    return lambda: each([function] * times)


def ratio(times: Times, numerator: str, denominator: str) -> Ratio:
    """Of the seconds of two variants, round by round."""
    return spread([a / b for a, b in zip(times[numerator], times[denominator], strict=True)])


def spread(values: Sequence[float]) -> Ratio:
    return Ratio(median(values), min(values), max(values))
