"""Several screens at once, a server that goes away under them, and more than a page can hold."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, online, order, part, playwright, say
from tests.processes.running import ROOT, Demo, until

pytestmark = pytest.mark.browser
expect = playwright.expect

FULL = """
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (...all) {
  if (this.name !== "meta") throw new DOMException("full", "QuotaExceededError");
  return put.apply(this, all);
};
"""

FILL = """
from django.contrib.auth import get_user_model
from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Owner
ana = get_user_model().objects.get(username="ana")
chat = log.create(Owner.of(ana), "web", "Five thousand")
for number in range(5_000):
    who = ("user", Actor("user", str(ana.pk))) if number % 2 == 0 else ("assistant", Actor("agent", "default"))
    log.append_message(chat, NewMessage(*who, f"Word {number}"))
print(chat.uid)
"""


def texts(page: Any) -> list[str]:
    return [text for _, text in order(page)]


def beside(page: Any, width: int = 1280, height: int = 800) -> Any:
    """Another tab of the same browser at the same chat."""
    other = page.context.new_page()
    other.set_viewport_size({"width": width, "height": height})
    other.goto(page.url)
    online(other)
    return other


def test_two_tabs_and_a_phone_show_the_same(visit: Open) -> None:
    first = visit()
    part(first, "new-chat").click()
    say(first, "From the first tab.")
    answer(first)
    second, phone = beside(first), beside(first, width=390, height=844)
    for page, text in ((second, "From the second tab."), (phone, "From the phone-sized one.")):
        say(page, text)
        answer(page)
    whole = texts(first)
    assert [text for text in whole if text.startswith("From")] == [
        "From the first tab.", "From the second tab.", "From the phone-sized one.",
    ]  # fmt: skip
    for page in (second, phone):
        expect(part(page, "pending")).to_have_count(0)
        expect(part(page, "message")).to_have_count(len(whole))
        assert texts(page) == whole


def test_a_permission_given_in_one_tab_closes_the_card_in_the_other(visit: Open) -> None:
    first = visit()
    part(first, "new-chat").click()
    say(first, "Please ring the bell.")
    second = beside(first)
    expect(part(first, "approve")).to_be_visible()
    expect(part(second, "approve")).to_be_visible()
    part(second, "approve").click()
    for page in (first, second):
        expect(part(page, "approve")).to_have_count(0)
        expect(part(page, "decided")).to_contain_text("Approved")
        expect(part(page, "message").last).to_contain_text("Ding, ding, ding")


@pytest.fixture
def own_demo(tmp_path: Path) -> Iterator[Demo]:
    """A demo whose server may be killed."""
    with Demo(tmp_path) as running:
        yield running


@pytest.fixture
def at_own_demo(own_demo: Demo, chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(viewport={"width": 1280, "height": 800}, locale="en")
    page = context.new_page()
    page.goto(f"{own_demo.site}/")
    page.locator("#id_username").fill("ana")
    page.locator("#id_password").fill("demo")
    page.locator("#id_password").press("Enter")
    page.wait_for_url("**/demo/")
    online(page)
    yield page
    context.close()


def test_a_server_that_is_killed_under_the_page_and_started_again(own_demo: Demo, at_own_demo: Any) -> None:
    page = at_own_demo
    part(page, "new-chat").click()
    say(page, "Remember the olives.")
    answer(page)
    part(page, "input").fill("count to 60")
    part(page, "input").press("Enter")
    writing = page.locator('.web [data-cm="message"][data-status="writing"] [data-cm="text"]')
    expect(writing).to_have_text(re.compile(r"1 2 3"))
    killed = own_demo.pid("server")
    assert killed
    os.kill(killed, signal.SIGKILL)
    part(page, "input").fill("Said while nobody was there.")
    part(page, "input").press("Enter")
    until(lambda: own_demo.pid("server") not in (killed, None), 60)
    mine = page.locator('.web [data-cm="message"][data-role="user"] [data-cm="text"]')
    expect(mine).to_have_text(["Remember the olives.", "count to 60", "Said while nobody was there."], timeout=60_000)
    expect(part(page, "pending")).to_have_count(0)
    expect(writing).to_have_count(0, timeout=60_000)
    assert "1 2 3" in " ".join(texts(page))  # what was shown stays, marked
    answer(page)
    held = texts(page)
    page.reload()
    online(page)
    expect(part(page, "message")).to_have_count(len(held))
    assert texts(page) == held


def test_a_full_storage_costs_nothing_but_speed(visit: Open) -> None:
    page = visit()
    page.context.add_init_script(FULL)
    page.reload()
    online(page)
    part(page, "new-chat").click()
    say(page, "There is no room left.")
    answer(page)
    part(page, "input").fill("a draft")
    page.reload()
    online(page)
    expect(part(page, "message").first).to_contain_text("There is no room left.")


def test_five_thousand_messages_open_and_scroll(demo: Demo, visit: Open) -> None:
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", FILL]
    chat = subprocess.run(command, cwd=ROOT, env=demo.environment, capture_output=True, text=True, check=True).stdout
    page = visit()
    page.evaluate("(id) => { document.querySelector('crossmemory-chat').conversation = id; }", chat.strip())
    expect(part(page, "message").last).to_contain_text("Word 4999")
    assert part(page, "message").count() <= 200  # the page holds what is near, not everything
    oldest = 5_001
    for _ in range(4):
        part(page, "earlier").click()
        page.wait_for_function(
            "(seq) => document.querySelector('.web [data-cm=message]').dataset.seq < seq", arg=oldest
        )
        found = [int(seq) for seq, _ in order(page)]
        assert found == list(range(found[0], 5_002))  # none missing, none twice
        oldest = found[0]
    say(page, "Word 5000")  # who goes on at the end has no use for what was loaded above
    answer(page)
    assert part(page, "message").count() <= 200
    page.reload()
    online(page)
    expect(part(page, "message").filter(has_text="Word 5000").first).to_be_visible()


def test_what_is_read_in_one_tab_is_read_for_all(visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "hello")
    answer(page)
    chat = page.evaluate("document.querySelector('crossmemory-chat').conversation")
    url = f"{page.url.split('/demo/')[0]}/api/crossmemory/conversations/{chat}/"
    other = beside(page)
    until(lambda: other.request.get(url).json()["unread"] == 0, 20)
