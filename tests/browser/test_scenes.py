"""Every scene of the demo page is played to its end, and held."""

import re

import pytest

from tests.browser.conftest import Open, part, playwright
from tests.processes.running import Demo

pytestmark = pytest.mark.browser
expect = playwright.expect

SECONDS = {"kill": 120}


@pytest.mark.parametrize(
    "scene", ["tell", "saw", "private", "correction", "five", "airplane", "approval", "steer", "kill"]
)
def test_the_scene_holds(demo: Demo, visit: Open, scene: str) -> None:
    page = visit()
    page.locator(f"[data-scene={scene}]").click()
    article = page.locator(f"#scene-{scene}")
    verdict = article.locator(".verdict")
    expect(verdict).not_to_be_empty(timeout=SECONDS.get(scene, 60) * 1000)
    assert verdict.inner_text() == "It held.", article.inner_text()
    states = {row.get_attribute("data-state") for row in article.locator("[data-step]").all()}
    assert states == {"done"}


def test_a_scene_can_be_played_again_and_stopped(visit: Open) -> None:
    page = visit()
    page.locator("[data-scene=tell]").click()
    verdict = page.locator("#scene-tell .verdict")
    expect(verdict).to_have_text("It held.", timeout=60_000)
    first = page.locator("#scene-tell [data-step=say] .proof").inner_text()
    page.locator("#again").click()
    expect(page.locator("[data-scene=saw]")).to_be_disabled()
    expect(verdict).to_have_text("It held.", timeout=60_000)
    assert page.locator("#scene-tell [data-step=say] .proof").inner_text() != first
    page.locator("[data-scene=five]").click()
    page.locator("#stop").click()
    expect(page.locator("#scene-five .verdict")).to_have_text("Stopped.")
    expect(page.locator("[data-scene=saw]")).to_be_enabled()


def test_a_scene_that_does_not_hold_says_why(visit: Open) -> None:
    page = visit()
    # The phone's answers are lost on the way: the scene must not tick what it did not see.
    page.route("**/sandbox/telegram/outbox*", lambda route: route.fulfill(json={"messages": [{"text": "?"}]}))
    page.locator("[data-scene=tell]").click()
    verdict = page.locator("#scene-tell .verdict")
    expect(verdict).to_contain_text("It did not hold: the answer does not have", timeout=60_000)
    expect(page.locator("#scene-tell [data-step=knows]")).to_have_attribute("data-state", "failed")
    expect(page.locator("#scene-tell [data-step=ask]")).to_have_attribute("data-state", "done")


def test_scenes_play_at_360_px_too(visit: Open) -> None:
    page = visit(width=360, height=640)
    page.locator(".tabs [data-show=scenes]").click()
    page.locator("[data-scene=airplane]").click()
    expect(page.locator("#scene-airplane .verdict")).to_have_text("It held.", timeout=60_000)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator(".tabs [data-show=scenes]").click()
    expect(page.locator("#scene-airplane [data-step]")).to_have_count(7)
    page.locator("#shut").click()
    expect(page.locator(".tabs [data-show=tab]")).to_be_hidden()


def test_staff_go_from_the_scene_to_the_admin(visit: Open) -> None:
    page = visit(user="staff")
    page.locator("[data-scene=saw]").click()
    expect(page.locator("#scene-saw .verdict")).to_have_text("It held.", timeout=60_000)
    with page.context.expect_page() as opened:
        page.locator("#scene-saw .more a").click()
    opened.value.wait_for_load_state()
    assert re.search(r"/admin/crossmemory/run/\d+/change/$", opened.value.url)
    code = re.search(r"[A-Z]{2}\d\d", page.locator("#scene-saw [data-step=say] .proof").inner_text())
    assert code
    assert code[0] in opened.value.locator("body").inner_text()


def test_airplane_mode_by_hand(visit: Open) -> None:
    page = visit()
    conversation = page.evaluate("document.querySelector('crossmemory-chat').chat.session.conversation")
    tab = page.context.new_page()
    tab.goto(f"{page.url}tab/{conversation}/")
    expect(part(tab, "state")).to_have_attribute("data-state", "online")
    switch = tab.get_by_role("switch", name="Airplane mode")
    switch.click()
    expect(part(tab, "state")).to_have_attribute("data-state", "offline")
    part(tab, "input").fill("Said above the clouds.")
    part(tab, "input").press("Enter")
    expect(part(tab, "pending")).to_contain_text("waiting for the network")
    expect(part(page, "message").filter(has_text="above the clouds")).to_have_count(0)
    switch.click()
    expect(part(tab, "pending")).to_have_count(0)
    expect(part(page, "message").filter(has_text="Said above the clouds.").first).to_be_visible()
