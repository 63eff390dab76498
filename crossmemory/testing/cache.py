"""Models of how providers cache the beginning of a request: what share of the tokens would have come from the cache?

    cache = PrefixCache(ANTHROPIC)
    served = cache.send(body, at=0.0)  # seconds, by any clock
    assert cache.share >= 0.9

A cache holds what came first: tools, instructions, messages, in this order. All of them compare from the beginning and
forget what nobody asks for; they differ in the shortest beginning that they keep, in its steps, and in whether they
keep only what ends at a mark. Prices are not modelled, nor that a provider may forget earlier or keep for longer than
it says, or serve a request from a machine that has seen nothing of it.
"""

import json
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crossmemory.testing.providers.anthropic import blocks_of
from crossmemory.testing.providers.base import items


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a request that is the same or is not. `kept`: seconds for which the request asks that what ends here
    be kept; 0: it does not ask."""

    text: str
    kept: float = 0


@dataclass(frozen=True, slots=True)
class Provider:
    """How one provider caches. `source` is the page that says so."""

    name: str
    source: str
    pieces: Callable[[Mapping[str, Any]], list[Piece]]
    least: int  # tokens: a shorter beginning is not kept
    seconds: float = 0  # without use, until it is forgotten; 0: the marks say so
    step: int = 1  # tokens: what is kept is a multiple of it, above `least`
    #: only what ends at a mark is kept, and it is looked for at most so many pieces before a mark; None: everything is
    #: kept, and compared by the token
    lookback: int | None = None


@dataclass(frozen=True, slots=True)
class Served:
    """Tokens of one request."""

    tokens: int
    cached: int


@dataclass
class PrefixCache:
    """The cache of one provider, as one site's requests find it."""

    provider: Provider
    #: tokens of a text. The default takes four UTF-8 bytes for one, which is near enough for a share
    count: Callable[[str], int] = field(default=lambda text: len(text.encode("utf-8", "replace")) // 4)
    sent: list[Served] = field(default_factory=list)
    #: beginning: (when it was last used, for how many seconds without use it is kept)
    _kept: dict[tuple[str, ...], tuple[float, float]] = field(default_factory=dict)

    def send(self, body: Mapping[str, Any], at: float) -> Served:
        """What of this request comes from the cache; it is kept from now on. `at`: seconds, never going back."""
        pieces = self.provider.pieces(body)
        tokens = [0]
        for piece in pieces:
            tokens.append(tokens[-1] + self.count(piece.text))
        for beginning in [each for each, (used, seconds) in self._kept.items() if at - used > seconds]:
            del self._kept[beginning]
        marked = self.provider.lookback is not None
        cached = self._marked(pieces, tokens, at) if marked else self._longest(pieces, tokens, at)
        served = Served(tokens[-1], cached)
        self.sent.append(served)
        return served

    @property
    def share(self) -> float:
        """Of all tokens sent so far, the share that came from the cache."""
        total = sum(served.tokens for served in self.sent)
        return sum(served.cached for served in self.sent) / total if total else 0.0

    def _use(self, beginning: tuple[str, ...], at: float, seconds: float = 0) -> None:
        _used, before = self._kept.get(beginning, (at, seconds))
        self._kept[beginning] = at, max(before, seconds)

    def _longest(self, pieces: Sequence[Piece], tokens: Sequence[int], at: float) -> int:
        """The longest beginning that any earlier request had, by the token."""
        texts = tuple(piece.text for piece in pieces)
        best, source = 0, None
        for kept in self._kept:
            same = _same(kept, texts)
            found = tokens[same]
            if same < min(len(kept), len(texts)):
                found += self.count(_common(kept[same], texts[same]))
            if found > best:
                best, source = found, kept
        provider = self.provider
        if source is not None:
            self._use(source, at)
        self._use(texts, at, provider.seconds)
        return 0 if best < provider.least else best - (best - provider.least) % provider.step

    def _marked(self, pieces: Sequence[Piece], tokens: Sequence[int], at: float) -> int:
        """The longest beginning that was marked earlier and ends at a mark of this request, or a little before one."""
        texts = tuple(piece.text for piece in pieces)
        marks = [place for place, piece in enumerate(pieces, 1) if piece.kept]
        best = 0
        for mark in marks:
            for end in range(mark, max(0, mark - (self.provider.lookback or 0)), -1):
                if texts[:end] in self._kept:
                    self._use(texts[:end], at)
                    best = max(best, tokens[end])
                    break
        for mark in marks:
            if tokens[mark] >= self.provider.least:
                self._use(texts[:mark], at, pieces[mark - 1].kept)
        return best


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many pieces at the beginning are equal."""
    for index, (mine, theirs) in enumerate(zip(one, other, strict=False)):
        if mine != theirs:
            return index
    return min(len(one), len(other))


def _common(one: str, other: str) -> str:
    """The beginning that two texts share."""
    most = min(len(one), len(other))
    length = bisect_left(range(1, most + 1), True, key=lambda end: one[:end] != other[:end])
    return one[:length]


def _json(*parts: Any) -> list[Piece]:
    return [Piece(json.dumps(part, ensure_ascii=False)) for part in parts if part]


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of a message, each with the rest of it."""
    content = message.get("content")
    rest = {key: value for key, value in message.items() if key != "content"}
    if not isinstance(content, list):
        return [message]
    return [{**rest, **part} for _place, part in items(content)]


def _of_openai(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of chat completions or of responses."""
    messages = body.get("messages") or body.get("input") or ()
    return [part for _place, message in items(messages) for part in _parts(message)]


_MARK = "prompt_cache_breakpoint"


def _openai(body: Mapping[str, Any]) -> list[Piece]:
    """What the request marks, and the end of its newest message, which OpenAI marks by itself."""
    options = body.get("prompt_cache_options") or {}
    seconds = _LIVES.get(options.get("ttl", "30m"), 1800)
    made = _json(body.get("tools"), body.get("instructions"))
    for part in _of_openai(body):
        text = {key: value for key, value in part.items() if key != _MARK}
        made += [Piece(each.text, seconds if _MARK in part else 0) for each in _json(text)]
    if made and options.get("mode", "implicit") == "implicit":
        made[-1] = Piece(made[-1].text, seconds)
    return made


def _openai_earlier(body: Mapping[str, Any]) -> list[Piece]:
    parts = [{key: value for key, value in part.items() if key != _MARK} for part in _of_openai(body)]
    return _json(body.get("tools"), body.get("instructions"), *parts)


def _anthropic(body: Mapping[str, Any]) -> list[Piece]:
    made = []
    for block in blocks_of(body):
        mark = block.get("cache_control") or {}
        text = {key: value for key, value in block.items() if key != "cache_control"}
        made.append(Piece(json.dumps(text, ensure_ascii=False), _LIVES.get(mark.get("ttl", "5m"), 300) if mark else 0))
    return made


def _gemini(body: Mapping[str, Any]) -> list[Piece]:
    parts = [
        {"role": content.get("role"), **part}
        for _index, content in items(body.get("contents"))
        for _place, part in items(content.get("parts"))
    ]
    return _json(body.get("tools"), body.get("systemInstruction"), *parts)


_LIVES = {"5m": 300.0, "30m": 1800.0, "1h": 3600.0, "12h": 43200.0}
_OPENAI = "https://developers.openai.com/api/docs/guides/prompt-caching"

#: GPT-5.6 and later: beginnings of 1,024 tokens that end at a breakpoint, the request's own ones and the end of its
#: newest message; kept for 30 minutes, and found however much follows
OPENAI = Provider("OpenAI", _OPENAI, _openai, least=1024, lookback=1_000_000)
#: before GPT-5.6: beginnings of 1,024 tokens and then each further 128; kept 5 to 10 minutes without use (here: 5)
OPENAI_EARLIER = Provider("OpenAI before GPT-5.6", _OPENAI, _openai_earlier, least=1024, seconds=300, step=128)
#: what `cache_control` marks, at least 1,024 tokens (Sonnet 5; other models 512 to 4,096), for 5 minutes without use
#: or the hour that the mark asks for; found within 20 blocks before a mark
ANTHROPIC = Provider(
    "Anthropic",
    "https://platform.claude.com/docs/en/build-with-claude/prompt-caching",
    _anthropic,
    least=1024,
    lookback=20,
)
#: implicit caching: at least 4,096 tokens (3.x; 2,048 for 2.5). How long is not said ("a short amount of time"): 5
#: minutes are this model's guess
GEMINI = Provider("Gemini", "https://ai.google.dev/gemini-api/docs/caching", _gemini, least=4096, seconds=300)

PROVIDERS: Mapping[str, Provider] = {
    "openai": OPENAI,
    "openai-earlier": OPENAI_EARLIER,
    "anthropic": ANTHROPIC,
    "gemini": GEMINI,
}

__all__ = [
    "ANTHROPIC",
    "GEMINI",
    "OPENAI",
    "OPENAI_EARLIER",
    "PROVIDERS",
    "Piece",
    "PrefixCache",
    "Provider",
    "Served",
]
