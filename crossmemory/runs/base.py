"""The seam for a queue: a runner is told that a run waits, and carries out what waits in the database.

The queue only wakes somebody; what waits, who has it and whether it is still his stands in the Run rows. A runner for
Celery or another queue overrides `wake` to send a task that calls `crossmemory.runs.engine.run_waiting`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from crossmemory.backends import Aliases
from crossmemory.conf import settings


class Runner:
    """Carries out waiting runs, here or elsewhere."""

    #: looks for what waits by itself, wherever it was started
    looks: ClassVar[bool] = False

    def __init__(self, alias: str, **options: Any) -> None:
        self.alias = alias
        self.options = options

    def start(self) -> None:
        """Look for waiting runs from now on, also such as another process left. Called when a server or bot starts."""

    def wake(self, after: float = 0) -> None:
        """A run was queued and committed; it may be taken `after` seconds. Must not wait and must not raise."""
        raise NotImplementedError

    def stop(self, grace: float) -> None:
        """Take no more runs, and let those under way finish for at most `grace` seconds."""


def _setting() -> Mapping[str, Mapping[str, Any]]:
    return {"default": settings.RUNNER}


_runners: Aliases[Runner] = Aliases("RUNNER", _setting)


def runner() -> Runner:
    """This process's runner."""
    return _runners["default"]


_elsewhere = False


def leave_to_others() -> None:
    """This process carries out no runs: what it queues waits for a runner that looks for it."""
    global _elsewhere
    _elsewhere = True


def wake(after: float = 0) -> None:
    """Tell the runner that a run waits, and may be taken `after` seconds."""
    if not _elsewhere:
        runner().wake(after)
