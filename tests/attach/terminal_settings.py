"""Settings of a terminal that answers itself: its own runner, on the database of the test that started it."""

from tests.support import other_process

globals().update({name: value for name, value in vars(other_process).items() if name.isupper()})

CROSSMEMORY = {
    **vars(other_process)["CROSSMEMORY"],
    "RUNNER": {"BACKEND": "crossmemory.runs.embedded.EmbeddedRunner"},
}
