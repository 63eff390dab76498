"""A person's day: the page says when little of it is left, and what is not taken stays to be sent again."""

from typing import Any

import pytest

from tests.browser.conftest import Open, part, playwright
from tests.browser.mock import EPOCH, said
from tests.browser.test_chat_part2 import ASKED, played

pytestmark = pytest.mark.browser
expect = playwright.expect

ENDS = "2046-12-01T23:00:00.000000Z"


def write(page: Any, text: str) -> None:
    part(page, "input").fill(text)
    part(page, "send").click()


def test_the_page_says_that_little_is_left_and_then_what_was_not_sent(visit: Open) -> None:
    page = visit()
    server = played(page, ASKED[:1])
    write(page, "The last but one")
    expect(part(page, "pending")).to_have_count(1)
    name = server.of("message.send")[-1]["client_id"]
    server.frame(type="ack", client_id=name, seq=2, duplicate=False, budget={"messages_left": 1, "resets_at": ENDS})
    expect(part(page, "budget")).to_contain_text("You can send 1 more message today.")
    server.frame(type="event", epoch=EPOCH, event=said(2, "user", "The last but one") | {"client_id": name})
    expect(part(page, "pending")).to_have_count(0)
    write(page, "Too much")
    expect(part(page, "pending")).to_have_attribute("data-state", "sending")
    name = server.of("message.send")[-1]["client_id"]
    server.frame(type="nack", client_id=name, code="over_budget", detail="No.", retryable=False, resets_at=ENDS)
    expect(part(page, "pending")).to_contain_text("used up what the assistant may do for you in one day")
    expect(part(page, "pending")).to_contain_text("Dec 1")  # when it begins anew, in the reader's words
    part(page, "retry").click()
    assert server.of("message.send")[-1] == server.of("message.send")[-2]
