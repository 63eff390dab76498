"""The promise, in a browser: what is said on the web is known on the phone, and every device shows the same."""

import re
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, online, order, part, playwright, say
from tests.processes.running import Demo

pytestmark = pytest.mark.browser
expect = playwright.expect


def test_the_web_tells_the_phone_and_a_reload_and_a_second_tab_show_the_same(demo: Demo, visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "The concert in Vienna begins at 19:45, row 12.")
    assert answer(page)
    phone = page.frame_locator("iframe#phone")
    phone.locator("#text").fill("When does the concert in Vienna begin?")
    phone.locator("#text").press("Enter")
    expect(phone.locator(".message:not(.me)").last).to_contain_text("19:45, row 12", timeout=30_000)

    said = order(page)
    assert len(said) == 2
    page.reload()
    online(page)
    expect(part(page, "message")).to_have_count(2)
    assert order(page) == said
    second = page.context.new_page()
    second.goto(page.url)
    online(second)
    expect(part(second, "message")).to_have_count(2)
    assert order(second) == said

    say(second, "Which row is the concert in?")
    assert "row 12" in answer(second)
    expect(part(page, "message")).to_have_count(4)
    assert answer(page) == answer(second)
    assert order(page) == order(second)


def test_what_was_said_on_the_phone_is_one_folded_line_until_it_is_tapped(demo: Demo, visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    demo.reply(demo.say("The guest room has the window code 8253."))
    say(page, "What is the window code of the guest room?")
    assert "8253" in answer(page)
    newest = part(page, "message").last
    fold = newest.locator('[data-cm="elsewhere"][data-surface="telegram"]')
    expect(fold).not_to_have_attribute("open", "")
    expect(fold.locator('[data-cm="seen"]')).to_have_count(0)
    fold.locator("summary").click()
    expect(fold.locator('[data-cm="seen"]').filter(has_text="8253")).to_be_visible()


def test_the_telegram_conversation_is_read_on_the_web_but_answered_there(demo: Demo, visit: Open) -> None:
    page = visit()
    reply = demo.reply(demo.say("The tulips are in the cellar."))
    page.locator('[data-cm="conversation"]').filter(has_text="[Telegram]").click()
    expect(part(page, "message").last).to_contain_text(reply[:20])
    expect(part(page, "composer")).to_be_hidden()
    expect(part(page, "open-surface")).to_have_attribute("href", re.compile(r"/sandbox/telegram/open/"))
    part(page, "continue-here").click()
    expect(part(page, "composer")).to_be_visible()


def test_sign_out_is_a_post_and_leaves_nothing_behind(visit: Open) -> None:
    page = visit()
    page.locator(".account summary").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/accounts/login/")
    page.goto(page.url.replace("/accounts/login/", "/demo/"))
    assert "/accounts/login/" in page.url


def test_a_wrong_password_is_said(visit: Open) -> None:
    page = visit()
    page.context.clear_cookies()
    page.goto(page.url)
    page.locator("#id_username").fill("ana")
    page.locator("#id_password").fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("do not fit")
    page.get_by_role("button", name="Sign in as Ana").click()
    page.wait_for_url("**/demo/")


def widths(page: Any) -> tuple[int, int]:
    return page.evaluate("document.documentElement.scrollWidth"), page.evaluate("innerWidth")


@pytest.mark.parametrize("locale", ["en", "es"])
def test_at_360_px_nothing_scrolls_sideways(visit: Open, locale: str) -> None:
    page = visit(width=360, height=640, locale=locale)
    for pane in ("web", "phone", "scenes"):
        page.locator(f".tabs [data-show={pane}]").click()
        expect(page.locator(f".demo [data-pane={pane}]").first).to_be_visible()
        assert widths(page) == (360, 360)
        for other in {"web", "phone"} - {pane}:
            expect(page.locator(f".demo [data-pane={other}]")).to_be_hidden()
    page.locator(".tabs [data-show=web]").click()
    say(page, "x" * 300)
    assert answer(page)
    assert widths(page) == (360, 360)
    # The composer stays above the end of the screen.
    box = part(page, "composer").bounding_box()
    assert box["y"] + box["height"] <= 640
    page.context.clear_cookies()
    page.goto(page.url)
    assert widths(page) == (360, 360)


def test_the_page_speaks_spanish(visit: Open) -> None:
    page = visit()
    page.get_by_role("button", name="Español").click()
    online(page)
    assert page.locator("html").get_attribute("lang") == "es"
    expect(page.locator("[data-scene=correction]")).to_contain_text("Una corrección gana")
    expect(part(page, "send")).to_have_text("Enviar")
    expect(page.frame_locator("iframe#phone").locator("#text")).to_have_attribute("placeholder", "Mensaje")
    page.locator("[data-scene=tell]").click()
    verdict = page.locator("#scene-tell .verdict")
    expect(verdict).to_have_text("Se cumplió.", timeout=60_000)
    expect(page.locator("#scene-tell [data-step=say] .proof")).to_contain_text("Mi ferry a Quíos")
    page.get_by_role("button", name="English").click()
    online(page)
    assert page.locator("html").get_attribute("lang") == "en"


def test_everything_can_be_done_with_the_keyboard(visit: Open) -> None:
    page = visit()
    seen = set()
    for _ in range(60 + part(page, "conversation").count()):  # other tests leave chats in the list
        page.keyboard.press("Tab")
        focused = page.evaluate(
            "(() => { const e = document.activeElement; return e && (e.dataset.scene || e.dataset.cm || e.id) })()"
        )
        visible = page.evaluate("document.activeElement.matches(':focus-visible') || document.activeElement.tagName")
        assert visible
        seen.add(focused)
        if focused == "input":
            break
    assert {"tell", "airplane", "new-chat", "conversation", "input"} <= seen
    page.keyboard.type("The keyboard note says 5514.")
    page.keyboard.press("Enter")
    expect(page.locator('[data-cm="message"][data-role="user"]').last).to_contain_text("5514")
    answer(page)
    page.locator("[data-scene=five]").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#scene-five")).to_be_visible()
    page.locator("#stop").focus()
    page.keyboard.press("Space")
    expect(page.locator("#scene-five .verdict")).to_have_text("Stopped.")
    page.locator("#shut").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#playing")).to_be_hidden()
    assert page.evaluate("document.activeElement.dataset.scene") == "five"
    page.locator(".account summary").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
