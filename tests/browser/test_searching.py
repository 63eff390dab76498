"""Searching in the page: what was said long ago and elsewhere is found, and shown where it stands."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, part, playwright, say
from tests.processes.running import ROOT, Demo

pytestmark = pytest.mark.browser
expect = playwright.expect

LONG_AGO = """
from django.contrib.auth import get_user_model
from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Owner
ana = get_user_model().objects.get(username="ana")
chat = log.create(Owner.of(ana), "web", "A long year")
said = [f"Line {number}" for number in range(700)]
said[40] = "The lighthouse keeper is called Ingeborg <b>Marten</b>."
for text in said:
    log.append_message(chat, NewMessage("user", Actor("user", str(ana.pk)), text))
"""


@pytest.fixture(scope="module")
def long_ago(demo: Demo) -> None:
    command = [sys.executable, "manage.py", "shell", "-c", LONG_AGO]
    subprocess.run(command, cwd=ROOT, env=demo.environment, check=True, capture_output=True)


def shot(page: Any, name: str) -> None:
    if folder := os.environ.get("LOOK_DIR"):
        page.screenshot(path=Path(folder) / f"{name}.png")


def search(page: Any, words: str) -> None:
    page.keyboard.press("Control+k")
    expect(part(page, "search-field")).to_be_focused()
    page.keyboard.type(words)


def test_what_was_said_long_ago_is_found_and_shown_where_it_stands(
    long_ago: None, visit: Open, axe: Callable[[Any], None]
) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "hello")
    answer(page)
    search(page, "lighthouse keeper")
    found = part(page, "search-result").first
    expect(found).to_contain_text("Ingeborg <b>Marten</b>")
    expect(found).to_contain_text("Line 39")
    expect(found).to_contain_text("A long year")
    expect(found.locator("mark").first).to_have_text("lighthouse")
    axe(page)
    shot(page, "search")
    page.keyboard.press("ArrowDown")
    expect(found).to_be_focused()
    page.keyboard.press("Enter")
    message = part(page, "message").filter(has_text="Ingeborg")
    expect(message).to_be_in_viewport()
    expect(message).to_be_focused()
    shot(page, "found")
    expect(part(page, "message").filter(has_text="Line 41").first).to_be_visible()
    say(page, "And I go on here.")
    expect(part(page, "message").filter(has_text="And I go on here.").last).to_be_in_viewport()


def test_what_was_said_on_the_phone_is_found_on_the_web(demo: Demo, visit: Open) -> None:
    page = visit(width=360, height=740, scheme="dark")
    demo.reply(demo.say("The spare key is under the third flowerpot."))
    part(page, "chats").click()
    part(page, "search-open").click()
    page.keyboard.type("flowerpot")
    found = part(page, "search-result").filter(has_text="spare key").first
    expect(found).to_contain_text("Telegram")
    shot(page, "search-phone")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    found.click()
    expect(part(page, "message").filter(has_text="spare key").first).to_be_in_viewport()


def test_nothing_found_a_word_too_short_and_trouble_are_said(visit: Open) -> None:
    page = visit()
    search(page, "z")
    said = part(page, "search-said")
    expect(said).to_contain_text("however long ago")
    page.keyboard.type("yzzyva")
    expect(said).to_contain_text("Nothing was found")
    page.route("**/search/**", lambda route: route.abort("internetdisconnected"))
    page.keyboard.type(" more")
    expect(said).to_contain_text("could not")
    page.keyboard.press("Escape")
    expect(part(page, "search")).to_have_count(0)


def test_what_is_removed_meanwhile_is_shown_as_removed(demo: Demo, visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "A word that goes: quandongberry.")
    answer(page)
    search(page, "quandongberry")
    found = part(page, "search-result").first
    expect(found).to_be_visible()
    chat = page.evaluate("document.querySelector('crossmemory-chat').conversation")
    message = found.get_attribute("data-id")
    with demo.sign_in() as web:
        web.delete(f"/api/crossmemory/conversations/{chat}/messages/{message}/").raise_for_status()
    found.click()
    expect(part(page, "message").filter(has_text="removed").first).to_be_in_viewport()
