"""The front end in docs/frontend.md, as it stands there: at the demo's server, under its Content-Security-Policy."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, online, part, playwright, say

pytestmark = pytest.mark.browser
expect = playwright.expect

TEXT = (Path(__file__).resolve().parents[2] / "docs/frontend.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    assert found
    return found[1]


def lay_out(page: Any, conversation: str) -> None:
    """Put the documented page into this one, its template filled with what the chat page knows."""
    chat = page.locator("crossmemory-chat")
    known = {
        "user.pk": chat.get_attribute("data-user"),
        "csrf_token": chat.get_attribute("data-csrf"),
        "conversation.uid": conversation,
    }
    body = re.sub(r"{{ ([a-z_.]+) }}", lambda found: known[found[1]], block("html"))
    page.route("**/own.js", lambda route: route.fulfill(body=block("js"), content_type="text/javascript"))
    page.evaluate(
        """(body) => {
            document.body.innerHTML = body;
            document.body.append(Object.assign(document.createElement("script"), { type: "module", src: "/own.js" }));
        }""",
        body,
    )


def test_the_documented_front_end_shows_sends_and_keeps(visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "said on the page")
    answer(page)
    conversation = page.locator("crossmemory-chat").evaluate("(chat) => chat.conversation")
    own = page.context.new_page()
    own.goto(page.url)
    online(own)
    lay_out(own, conversation)
    items = own.locator("#messages li")
    expect(items.first).to_have_text("said on the page")
    shown = items.count()
    assert shown >= 2  # the question and its answer

    page.context.set_offline(True)
    own.locator("[name=text]").fill("written offline")
    own.get_by_role("button", name="Send").click()
    expect(items.filter(has_text="written offline")).to_have_text(re.compile(r"\((waiting|sending)\)"))
    page.context.set_offline(False)
    expect(items.filter(has_text="written offline").first).to_have_text("written offline", timeout=20_000)
    expect(part(page, "message").filter(has_text="written offline")).to_be_visible()
    expect(own.locator("#link")).to_be_empty()

    own.reload()
    online(own)
    lay_out(own, conversation)
    expect(items.first).to_have_text("said on the page")
    expect(items.filter(has_text=re.compile("^written offline$"))).to_have_count(1)
