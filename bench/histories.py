"""`python -m bench histories`, or `python bench/histories.py [--count 10000] [--seed 1]`: random histories, cut
anywhere, repaired, rendered for each provider: how many would be refused? Beside it, how many would be without repair.
Needs no server; ends with 1 if any is.
"""

import argparse
import random
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python bench/histories.py", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="histories for each provider")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

    from bench.alone import start

    start()

    from crossmemory.memory import Turn
    from crossmemory.memory.repair import repaired
    from crossmemory.testing import providers
    from crossmemory.testing.histories import history

    refused_in_all = 0
    print("| provider | histories | requests | refused | refused without repair |")
    print("|---|---|---|---|---|")
    for provider in providers.PROVIDERS:
        chance, began = random.Random(options.seed), time.monotonic()
        counts: Counter[str] = Counter()
        for number in range(options.count):
            given = history(chance.randrange)
            start_, end = sorted((chance.randrange(len(given) + 1), chance.randrange(len(given) + 1)))
            # As it is, it is asked when it ends with the person; else the person says something.
            cut = given[start_:end]
            if chance.randrange(2) or not (asked := repaired(cut)) or asked[-1].role == "assistant":
                asked = repaired([*cut, Turn.of("user", "And now?")])
            counts["requests"] += 1
            if refusals := providers.refusals(provider, providers.request(provider, asked, "Be kind.")):
                counts["refused"] += 1
                print(f"history {number}: {refusals[0]}", file=sys.stderr)
            try:
                bare = providers.request(provider, [*cut, Turn.of("user", "And now?")], "Be kind.")
                counts["bare"] += bool(providers.refusals(provider, bare))
            except (TypeError, ValueError):  # it has blocks that nobody takes
                counts["bare"] += 1
        refused_in_all += counts["refused"]
        print(
            f"| {provider} | {options.count:,} | {counts['requests']:,} | {counts['refused']} | {counts['bare']:,} |",
            flush=True,
        )
        print(f"{provider}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return 1 if refused_in_all else 0


if __name__ == "__main__":
    sys.exit(main())
