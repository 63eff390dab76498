"""`python bench/recall.py FOLDER [--most 25]`: how much of what answers a question does a search find?

FOLDER holds conversations of LoCoMo (Maharana et al., 2024) as JSON. Each becomes a conversation of a person; each
question is asked with `memory.search`, and with BM25 (bm25s: English stems and stop words, one document a message)
over the same texts. Printed is recall@5, @10 and @25 of the evidence by category, side by side. Adversarial questions,
which nothing answers, are left out. On SQLite, or on the PostgreSQL that DATABASE_URL names.
"""

import argparse
import contextlib
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import mean
from typing import Any

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
CUTS = (5, 10, 25)
Turns = dict[str, str]  # by id: what was said
Search = Callable[[str, int], list[str]]  # a question, how many: ids, best first


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/recall.py", description=__doc__)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args(arguments)
    files = sorted(options.folder.glob("*.json"))
    if not files:
        parser.error(f"there is no conversation (*.json) in {options.folder}")
    sys.path[0] = str(Path(__file__).resolve().parent.parent)
    with database() as url:
        from bench.alone import start

        start(database=url)
        print(table(files), flush=True)
    return 0


@contextlib.contextmanager
def database() -> Iterator[str]:
    """The URL of a database of our own on the server that DATABASE_URL names; empty without one."""
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        yield ""
        return
    from bench.database import own_database

    with own_database(url) as own:
        try:
            yield own
        finally:
            from django.db import connections

            connections.close_all()


def table(files: Sequence[Path]) -> str:
    found: dict[str, dict[int, list[dict[int, float]]]] = {"ours": defaultdict(list), "BM25": defaultdict(list)}
    began, asked = time.monotonic(), 0
    for path in files:
        told = json.loads(path.read_text())
        turns = dict(said(told))
        searches = {"ours": stored(path.stem, turns, told["speaker_a"]), "BM25": bm25(turns)}
        for each in told["qa"]:
            evidence = {part for word in each["evidence"] for part in word.replace(";", " ").split()} & set(turns)
            if each["category"] not in CATEGORIES or not evidence:
                continue
            asked += 1
            for name, search in searches.items():
                ids = search(each["question"], max(CUTS))
                share = {cut: len(evidence & set(ids[:cut])) / len(evidence) for cut in CUTS}
                found[name][each["category"]].append(share)
        print(f"{path.name}: {len(turns)} messages, {asked} questions so far", file=sys.stderr)
    lines = [
        "| questions | | " + " | ".join(f"recall@{cut}" for cut in CUTS) + " |",
        "|---|---|" + "---|" * len(CUTS),
    ]
    for category, title in [*CATEGORIES.items(), (0, "**all**")]:
        shares = {name: by[category] if category else [*chain(*by.values())] for name, by in found.items()}
        means = {name: [mean(share[cut] for share in each) for cut in CUTS] for name, each in shares.items() if each}
        if not means:
            continue
        ours = [
            f"{ours:.3f} ({ours / theirs:.2f} ×)" for ours, theirs in zip(means["ours"], means["BM25"], strict=True)
        ]
        lines.append(f"| {title} ({len(shares['ours'])}) | `memory.search` | " + " | ".join(ours) + " |")
        lines.append("| | BM25 | " + " | ".join(f"{theirs:.3f}" for theirs in means["BM25"]) + " |")
    print(f"{asked} questions: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return "\n".join(lines)


def said(told: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The messages in order: id, and what stands in it: who spoke, the words, what a picture shows."""
    number = 1
    while f"session_{number}" in told or f"session_{number}_date_time" in told:
        for turn in told.get(f"session_{number}", ()):
            picture = f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
            yield turn["dia_id"], f"{turn['speaker']}: {turn['text']}{picture}"
        number += 1


def stored(name: str, turns: Turns, first: str) -> Search:
    """As messages of a person of their own."""
    from django.contrib.auth import get_user_model

    from crossmemory import log, memory
    from crossmemory.events import Actor
    from crossmemory.log import NewMessage
    from crossmemory.models import Owner

    user = get_user_model().objects.create_user(name)
    conversation = log.create(Owner.of(user), "web", "A long friendship")
    ids: dict[int, str] = {}
    for dia, text in turns.items():
        role = "user" if text.startswith(f"{first}:") else "assistant"
        ids[log.append_message(conversation, NewMessage(role, Actor("user", name), text)).id] = dia
    return lambda question, most: [ids[each.message.id] for each in memory.search(user, question, limit=most)]


def bm25(turns: Turns) -> Search:
    import bm25s
    import Stemmer

    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index, ids = bm25s.BM25(), list(turns)
    index.index(tokens(list(turns.values())), show_progress=False)

    def search(question: str, most: int) -> list[str]:
        found, _scores = index.retrieve(tokens([question]), k=min(most, len(ids)), show_progress=False)
        return [ids[number] for number in found[0]]

    return search


if __name__ == "__main__":
    sys.exit(main())
