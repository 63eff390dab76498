"""English and Spanish are complete, and what is compiled is what is written."""

import gettext
import importlib
import pkgutil
import re
import subprocess
from pathlib import Path

import pytest

import crossmemory
from crossmemory.exceptions import CrossmemoryError
from crossmemory.text import ERRORS

ROOT = Path(__file__).resolve().parent.parent
CATALOGUES = sorted(ROOT.glob("*/locale/es/LC_MESSAGES/django.po"))
#: errors that only programs and staff meet
INTERNAL = {"CrossmemoryError", "Fenced", "AppendOnly", "UnknownEvent", "Misconfigured"}


def kinds(error: type[CrossmemoryError]) -> list[type[CrossmemoryError]]:
    return [error, *(each for child in error.__subclasses__() for each in kinds(child))]


def test_every_error_that_people_may_read_can_be_translated() -> None:
    for module in pkgutil.walk_packages(crossmemory.__path__, "crossmemory."):
        if ".migrations" not in module.name:
            importlib.import_module(module.name)
    for kind in kinds(CrossmemoryError):
        if kind.__name__ not in INTERNAL and kind.__module__.startswith("crossmemory"):
            assert kind.__doc__ in ERRORS, kind


def test_there_are_catalogues_of_the_app_and_the_demo() -> None:
    assert len(CATALOGUES) == 2


@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda path: path.parts[-5])
def test_spanish_is_complete_and_compiled(catalogue: Path) -> None:
    done = subprocess.run(
        ["msgfmt", "--check", "--statistics", "-o", "/dev/null", catalogue], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "untranslated" not in done.stderr, done.stderr
    assert "fuzzy" not in done.stderr, done.stderr
    with catalogue.with_suffix(".mo").open("rb") as compiled:
        texts = gettext.GNUTranslations(compiled)
    for source in re.findall(r'^msgid "(.+)"$', catalogue.read_text(), re.MULTILINE):
        plain = source.replace('\\"', '"').replace("\\n", "\n")
        assert texts.gettext(plain) or plain in texts._catalog, plain  # type: ignore[attr-defined]


def test_nothing_that_people_read_is_missing_from_the_catalogue(tmp_path: Path) -> None:
    """Collects the strings of the app afresh, and compares."""
    sources = [path for path in (ROOT / "crossmemory").rglob("*.py") if "migrations" not in path.parts]
    fresh = tmp_path / "fresh.pot"
    subprocess.run(
        ["xgettext", "--language=Python", "--from-code=UTF-8", "-o", fresh]
        + [f"-k{word}" for word in ("_", "gettext", "gettext_lazy", "gettext_noop", "ngettext:1,2", "pgettext:1c,2")]
        + [str(path) for path in sources],
        check=True,
    )  # fmt: skip

    def ids(path: Path) -> set[str]:
        joined = re.sub(r'"\n"', "", path.read_text())
        return set(re.findall(r'^msgid "(.+)"$', joined, re.MULTILINE))

    assert ids(fresh) - ids(ROOT / "crossmemory/locale/es/LC_MESSAGES/django.po") == set()
