"""A network that lets no WebSocket through: the same chat over plain HTTP."""

import re

import pytest

from tests.browser.conftest import Open, answer, online, part, playwright, say

pytestmark = pytest.mark.browser
expect = playwright.expect

#: Every socket leads nowhere, as behind a proxy that knows no WebSocket.
BLOCKED = """
window.WebSocket = class extends WebSocket {
    constructor(address, protocols) { super(address.replace("/ws/", "/nowhere/"), protocols); }
};
"""


def test_the_chat_works_where_no_websocket_gets_through(visit: Open) -> None:
    page = visit()
    tried: list[str] = []
    page.on("console", lambda line: tried.append(line.text) if "/nowhere/" in line.text else None)
    page.add_init_script(BLOCKED)
    with page.expect_response(re.compile("/events/stream/")) as stream:
        page.reload()
    assert stream.value.ok
    online(page)
    part(page, "new-chat").click()
    say(page, "over plain HTTP")
    answer(page)
    expect(part(page, "message").filter(has_text="over plain HTTP")).to_have_count(1)
    page.wait_for_function("() => document.querySelector('.web [data-cm=\"pending\"]') === null")
    assert tried
