"""What the assistant remembers in a chat from elsewhere, and leaving it out there."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, part, playwright, say
from tests.processes.running import Demo

pytestmark = pytest.mark.browser
expect = playwright.expect


def remember(page: Any) -> None:
    part(page, "chat-menu").locator("summary").click()
    part(page, "remembers").click()
    expect(part(page, "remembers-count")).to_be_visible()


def test_a_message_and_a_surface_are_left_out_with_the_keyboard(
    demo: Demo, visit: Open, axe: Callable[[Any], None]
) -> None:
    page = visit()
    demo.reply(demo.say("The gate of the orchard has the code 7719."))
    part(page, "new-chat").click()
    say(page, "What is the code of the orchard gate?")
    assert "7719" in answer(page)

    remember(page)
    axe(page)
    row = page.locator('.cm-memory [data-kind="message"]').filter(has_text="7719").first
    switch = row.get_by_role("switch")
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press("Space")
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    expect(part(page, "remembers-said")).not_to_be_empty()
    page.keyboard.press("Escape")
    expect(part(page, "remembers-dialog")).to_have_count(0)
    say(page, "What is the code of the orchard gate now?")
    assert "7719" not in answer(page)

    remember(page)
    expect(switch).not_to_be_checked()
    everything = page.get_by_role("switch", name="Telegram").first
    everything.focus()
    page.keyboard.press("Space")
    expect(switch).to_be_disabled()
    expect(part(page, "remembers-count")).to_contain_text("0 ")
    axe(page)
    page.keyboard.press("Space")
    expect(switch).to_be_enabled()
    switch.click()
    expect(switch).to_be_checked()
    part(page, "would-see").locator("summary").click()
    expect(
        part(page, "would-see").locator('[data-cm="seen"]').filter(has_text="has the code 7719").first
    ).to_be_visible()
    page.keyboard.press("Escape")
    say(page, "What is the code of the orchard gate, once more?")
    assert "7719" in answer(page)


def test_a_switch_that_did_not_reach_the_server_goes_back(visit: Open, demo: Demo) -> None:
    page = visit(width=360, locale="es")
    demo.reply(demo.say("Las tijeras están en el cajón."))
    part(page, "chats").click()
    part(page, "new-chat").click()
    say(page, "Hola")
    answer(page)
    remember(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.context.set_offline(True)
    switch = page.get_by_role("switch").first
    switch.click()
    expect(part(page, "remembers-dialog").get_by_role("alert")).to_be_visible()
    expect(switch).to_be_checked()
    page.context.set_offline(False)
