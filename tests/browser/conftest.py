"""A real chromium at the demo that `manage.py demo` runs."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.processes.running import Demo

playwright = pytest.importorskip("playwright.sync_api")

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")

AXE = Path(__file__).resolve().parents[2] / "node_modules/axe-core/axe.min.js"
Open = Callable[..., Any]


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.fail("No chromium here: install one (Debian: apt-get install chromium).")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # playwright runs an event loop in this thread
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(demo: Demo, chromium: Any, request: pytest.FixtureRequest) -> Iterator[Open]:
    """`visit(width=360, locale="es", user="staff")` is a page at the demo, signed in; its console must stay clean."""
    contexts: list[Any] = []
    troubles: list[str] = []

    def hear(page: Any) -> None:
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda line: troubles.append(line.text) if line.type in ("error", "warning") else None)

    def open_page(
        width: int = 1280, height: int = 800, locale: str = "en", user: str = "ana", scheme: Any = "light"
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": width, "height": height}, locale=locale, color_scheme=scheme, reduced_motion="reduce"
        )
        contexts.append(context)
        context.on("page", hear)
        page = context.new_page()
        page.goto(f"{demo.site}/")
        page.locator("#id_username").fill(user)
        page.locator("#id_password").fill("demo")
        page.locator("#id_password").press("Enter")
        page.wait_for_url("**/demo/")
        online(page)
        return page

    yield open_page
    pictures = os.environ.get("SHOTS_DIR") if getattr(request.node, "failed", False) else None
    for number, context in enumerate(contexts):
        for page in context.pages if pictures else []:
            page.screenshot(path=Path(pictures or "") / f"{request.node.name[:60]}-{number}.png")
        context.close()
    # What the tests break on purpose (a server killed, airplane mode) chromium reports by itself.
    assert [line for line in troubles if not re.search(r"ERR_(CONNECTION|INTERNET)|/nowhere/", line)] == []


@pytest.fixture
def alone(demo: Demo, chromium: Any) -> Iterator[Any]:
    """A page at the demo whose console may complain: chromium reports every 401."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, locale="en")
    page = context.new_page()
    page.goto(f"{demo.site}/")
    sign_in(page, "ana")
    yield page
    context.close()


@pytest.fixture(scope="session")
def axe() -> Callable[[Any], None]:
    """`axe(page)` fails where axe-core finds something in the chat that somebody could not see, hear or reach."""
    if not AXE.exists():
        pytest.fail("axe-core is not here: run `make node_modules/.ready`.")
    source = AXE.read_text()

    def look(page: Any) -> None:
        page.evaluate(source)
        found = page.evaluate("axe.run(document.querySelector('crossmemory-chat')).then((r) => r.violations)")
        assert [(one["id"], [node["html"][:200] for node in one["nodes"]]) for one in found] == []

    return look


def sign_in(page: Any, user: str) -> None:
    page.locator("#id_username").fill(user)
    page.locator("#id_password").fill("demo")
    page.locator("#id_password").press("Enter")
    page.wait_for_url("**/demo/")
    online(page)


def part(page: Any, name: str) -> Any:
    """A part of the web chat by the name that it gives itself."""
    return page.locator(f'.web [data-cm="{name}"]')


def online(page: Any) -> None:
    page.locator('.web [data-cm="state"][data-state="online"], .web [data-cm="empty"]:visible').first.wait_for()


def say(page: Any, text: str) -> None:
    """Type and send; returns when the server has stored it."""
    part(page, "input").fill(text)
    part(page, "input").press("Enter")
    page.locator('.web [data-cm="message"][data-role="user"]').filter(has_text=text).last.wait_for()


def answer(page: Any) -> str:
    """The finished answer that is the newest message."""
    newest = page.locator('.web [data-cm="message"]').last
    newest.and_(page.locator('[data-role="assistant"][data-status="complete"]')).wait_for()
    return str(newest.locator('[data-cm="text"]').inner_text())


def order(page: Any) -> list[tuple[str, str]]:
    """What stands in the log: numbers and texts."""
    rows = page.locator('.web [data-cm="message"]').all()
    return [(row.get_attribute("data-seq"), row.locator('[data-cm="text"]').inner_text()) for row in rows]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Iterator[None]:
    """Remember that a test failed, for a picture of its pages."""
    outcome: Any = yield
    if call.when == "call":
        item.failed = outcome.get_result().failed
