"""The conformance scripts of docs/protocol, read, and how what is expected is matched."""

from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "protocol" / "conformance"

Script = dict[str, Any]


def scripts(kind: str) -> list[tuple[str, Script]]:
    """All scripts for a `client` or a `server`, by a name that tells where they stand."""
    return [
        (f"{path.stem}: {script['name']}", script)
        for path in sorted((FOLDER / kind).glob("*.yaml"))
        for script in yaml.safe_load(path.read_text())["scripts"]
    ]


class Names(dict[str, Any]):
    """What names that begin with `$` stand for in one script."""

    def filled(self, value: Any) -> Any:
        """A value with the names in it replaced."""
        if isinstance(value, dict):
            return {key: self.filled(each) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each) for each in value]
        return self.get(value, value) if isinstance(value, str) else value

    def differs(self, found: Any, expected: Any, at: str = "") -> str:
        """Where what was found is not what is expected; empty when it fits."""
        if isinstance(expected, str) and expected.startswith("$"):
            if expected == "$any":
                return "" if found is not None else f"{at}: nothing"
            expected = self.setdefault(expected, found)
        if isinstance(expected, dict):
            if not isinstance(found, dict):
                return f"{at}: {found!r} is no object"
            each = (self.differs(found.get(key), value, f"{at}.{key}") for key, value in expected.items())
            return next(filter(None, each), "")
        if isinstance(expected, list):
            if not isinstance(found, (list, tuple)) or len(found) != len(expected):
                return f"{at}: {found!r} instead of {expected!r}"
            pairs = enumerate(zip(found, expected, strict=True))
            return next(filter(None, (self.differs(a, b, f"{at}[{number}]") for number, (a, b) in pairs)), "")
        return "" if found == expected else f"{at}: {found!r} instead of {expected!r}"

    def check(self, found: Any, expected: Any) -> None:
        problem = self.differs(found, expected)
        assert not problem, problem
