"""The phone page in a real chromium: what is written, drawn and pressed."""

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.sandbox.conftest import TOKEN
from tests.sandbox.live import LiveServer

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.browser

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture
def page(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path="/usr/bin/chromium", args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 360, "height": 640}, locale="en")
        page.set_default_timeout(8000)
        troubles: list[str] = []
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
        yield page
        browser.close()
        # Chromium reports an answer of 502 by itself; the page is expected to live with it.
        assert [line for line in troubles if "502" not in line] == []


def call(server: LiveServer, method: str, **values: Any) -> Any:
    answer = httpx.post(f"{server.base}/bot{TOKEN}/{method}", json=values).json()
    assert answer["ok"], answer
    return answer["result"]


def test_a_chat_is_written_drawn_and_pressed_on_a_small_phone(server: LiveServer, page: Any) -> None:
    expect = playwright.expect
    page.goto(f"{server.base}/phone/5001/")
    expect(page.locator("#log")).to_contain_text("Nothing said yet")
    page.get_by_label("Message as Ana").fill("When does my <b>ferry</b> leave?")
    page.keyboard.press("Enter")
    expect(page.locator(".me .text")).to_have_text("When does my <b>ferry</b> leave?")
    (update,) = call(server, "getUpdates")
    assert update["message"]["text"] == "When does my <b>ferry</b> leave?"

    call(server, "sendChatAction", chat_id=5001, action="typing")
    expect(page.locator("#state")).to_have_text("typing…")
    call(
        server,
        "sendMessage",
        chat_id=5001,
        text="😀 07:35, gate E4 <img src=x onerror=alert(1)>\n" + "x" * 300,
        entities=[
            {"type": "bold", "offset": 3, "length": 13},
            {"type": "italic", "offset": 10, "length": 12},
            {"type": "text_link", "offset": 24, "length": 3, "url": "javascript:alert(1)"},
            {"type": "pre", "offset": 47, "length": 300},
        ],
        reply_markup={"inline_keyboard": [[{"text": "Thanks", "callback_data": "ok"}]]},
    )
    bubble = page.locator(".message:not(.me)")
    expect(bubble.locator("strong")).to_have_text("07:35, gate E")
    expect(bubble.locator("em").first).to_have_text("gate E")
    expect(bubble.locator("img, a")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert bubble.evaluate("node => node.getBoundingClientRect().right") <= 360

    bubble.get_by_role("button", name="Thanks").click()
    expect(bubble.get_by_role("button", name="Thanks")).to_have_attribute("aria-busy", "true")
    query = call(server, "getUpdates")[-1]["callback_query"]
    call(server, "answerCallbackQuery", callback_query_id=query["id"], text="You are welcome")
    expect(page.locator("#alert")).to_have_text("You are welcome")
    expect(bubble.get_by_role("button", name="Thanks")).not_to_have_attribute("aria-busy", "true")

    message_id = bubble.get_attribute("data-message")
    call(server, "editMessageText", chat_id=5001, message_id=message_id, text="07:40")
    expect(bubble.locator(".text")).to_have_text("07:40")
    call(server, "deleteMessage", chat_id=5001, message_id=message_id)
    expect(bubble).to_have_count(0)
    page.reload()
    expect(page.locator(".me .text")).to_have_text("When does my <b>ferry</b> leave?")


def test_start_sends_the_code_of_the_link_once(server: LiveServer, page: Any) -> None:
    page.goto(f"{server.base}/open/crossmemory_demo_bot?start=Ab_-9")
    page.get_by_role("button", name="Start", exact=True).click()
    playwright.expect(page.locator(".me .text")).to_have_text("/start Ab_-9")
    playwright.expect(page).to_have_url(re.compile(r"/open/crossmemory_demo_bot$"))
    assert [u["message"]["text"] for u in call(server, "getUpdates")] == ["/start Ab_-9"]
    page.reload()
    playwright.expect(page.get_by_label("Message as Ana")).to_be_visible()


def test_what_could_not_be_sent_is_kept_and_sent_on_a_tap(server: LiveServer, page: Any) -> None:
    page.goto(f"{server.base}/phone/5001/")
    page.route("**/say", lambda route: route.fulfill(status=502, body="no"))
    page.get_by_label("Message as Ana").fill("hello")
    page.get_by_label("Send", exact=True).click()
    again = page.get_by_role("button", name="not sent: tap to try again")
    playwright.expect(again).to_be_visible()
    assert call(server, "getUpdates") == []
    page.unroute("**/say")
    with page.expect_response("**/say"):
        again.click()
    playwright.expect(again).to_have_count(0)
    playwright.expect(page.locator(".me .text")).to_have_text("hello")
    assert [u["message"]["text"] for u in call(server, "getUpdates")] == ["hello"]
