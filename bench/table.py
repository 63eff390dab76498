"""The table that a run of the benchmark prints, as Markdown."""

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field, fields
from datetime import date
from importlib.metadata import version
from typing import Literal

from bench.rounds import Ratio


@dataclass(frozen=True)
class Row:
    """One line: `what` was measured, as a ratio of the two things that `compared` names."""

    what: str
    compared: str
    median: str
    spread: str = field(default="", metadata={"head": "min – max"})
    target: str = ""
    reached: str = ""


@dataclass(frozen=True)
class Counted:
    """One line of the second table: what went between the app and its database."""

    what: str
    how: str
    queries: int
    read: int = field(metadata={"head": "rows read"})
    written: int = field(metadata={"head": "rows written"})
    sent: str = field(metadata={"head": "values sent"})
    received: str = field(metadata={"head": "values received"})


def ratio_row(
    what: str, compared: str, ratio: Ratio, target: tuple[Literal["≥", "≤"], float] | None = None, unit: str = ""
) -> Row:
    """A ratio (or, with `unit`, an absolute number) and whether its median reached the target."""
    digits = 1 if unit else 2
    values = [f"{value:.{digits}f}{unit}" for value in (ratio.median, ratio.least, ratio.most)]
    row = (what, compared, values[0], f"{values[1]} – {values[2]}")
    if target is None:
        return Row(*row)
    sign, bound = target
    reached = ratio.median >= bound if sign == "≥" else ratio.median <= bound
    return Row(*row, f"{sign} {bound:g}{unit}", "yes" if reached else "NO")


def say(text: str) -> None:
    """A line of progress."""
    print(text, file=sys.stderr, flush=True)


def machine(server: str) -> str:
    """What it was measured on; `server` is PostgreSQL's own version."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("django", "psycopg", "channels", "uvicorn", "daphne"))
    return (
        f"{date.today().isoformat()} · {os.cpu_count()} cores ({_processor()}), {_system()}"
        f" · Python {platform.python_version()}, PostgreSQL {server}, {packages}"
    )


def render(rows: Sequence[Row | Counted]) -> str:
    """Rows of one kind as a Markdown table with aligned columns."""
    names = [field.metadata.get("head", field.name) for field in fields(rows[0])]
    cells = [names, *[[str(value) for value in astuple(row)] for row in rows]]
    widths = [max(len(line[column]) for line in cells) for column in range(len(names))]
    lines = [f"| {' | '.join(map(str.ljust, line, widths))} |" for line in cells]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            found = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        found = []
    return found[0] if found else platform.machine()
