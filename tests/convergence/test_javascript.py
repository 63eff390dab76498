"""The page's connection and reducer, in node, show what the log says: frames of real schedules, folded once more."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.convergence.schedule import play
from tests.convergence.steps import draw
from tests.support.stage import Stage

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.one_database,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
]

FOLD = Path(__file__).resolve().parent.parent / "js" / "fold.mjs"
SCHEDULES = 40


def test_the_page_shows_what_the_log_says(stage: Stage, user: Any, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY}
    tapes, digests = [], []
    for seed in range(1_000_000, 1_000_000 + SCHEDULES):
        result = play(draw(seed), stage, user, check=True)
        tapes += [json.dumps({"floor": result.floor, "tape": device.tape}) for device in result.devices]
        digests += [(seed, device.name, result.digest) for device in result.devices]
    done = subprocess.run(["node", str(FOLD)], input="\n".join(tapes), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    folded = [json.loads(line) for line in done.stdout.splitlines()]
    unlike = [(seed, name, got) for (seed, name, digest), got in zip(digests, folded, strict=True) if got != digest]
    assert unlike == []
