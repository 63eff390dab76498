"""`python -m bench [measurement …] [--quick]`: runs the measurements and prints one table. Progress is on stderr.

Needs a PostgreSQL server in DATABASE_URL, on which it makes a database of its own and drops it again; `make bench`
starts a private one.
"""

import argparse
import os
import signal
import sys
import time
from importlib import import_module
from typing import Any, NoReturn

ALONE = ("cache", "histories")
MEASUREMENTS = ("store", "context", "attach", "resume", "storm", "stream", "burst", "search", "counts")


def main() -> int:
    if sys.argv[1:2] and sys.argv[1] in ALONE:
        alone: int = import_module(f"bench.{sys.argv[1]}").main(sys.argv[2:])
        return alone
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("measurement", nargs="*", help=f"{', '.join(MEASUREMENTS)}; all without any")
    parser.add_argument("--quick", action="store_true", help="smaller sizes and fewer rounds, to see that it works")
    options = parser.parse_args()
    for name in options.measurement:
        if name not in MEASUREMENTS:
            parser.error(f"there is no measurement {name!r}: choose from {', '.join(MEASUREMENTS)}")
    url = os.environ.get("DATABASE_URL", "")
    if not url.startswith("postgres"):
        parser.error("DATABASE_URL names no PostgreSQL server; `make bench` starts a private one")
    signal.signal(signal.SIGTERM, _leave)

    from bench.database import own_database

    with own_database(url) as own:
        os.environ.update(BENCH_DATABASE_URL=own, DJANGO_SETTINGS_MODULE="bench.settings")
        _measure(options.measurement or MEASUREMENTS, options.quick)
    return 0


def _measure(names: list[str] | tuple[str, ...], quick: bool) -> None:
    import django
    from django.core.management import call_command
    from django.db import connection, connections

    from bench.table import Counted, Row, machine, render, say

    django.setup()
    call_command("migrate", verbosity=0)

    from bench.people import clear  # needs the app registry

    rows: list[Any] = []
    for name in names:
        start = time.monotonic()
        rows += import_module(f"bench.{name}").measure(quick)
        clear()
        say(f"{name}: done in {time.monotonic() - start:.0f} s")
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version")
        server = cursor.fetchone()[0]
    for kind in (Row, Counted):
        if found := [row for row in rows if isinstance(row, kind)]:
            print(render(found), end="\n\n")
    print(machine(server) + (" · --quick: smaller than what the targets are about" if quick else ""))
    connections.close_all()


def _leave(number: int, frame: object) -> NoReturn:
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
