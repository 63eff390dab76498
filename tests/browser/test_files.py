"""Files in the chat page: picked, dropped and pasted, brought with progress, shown, and deleted."""

import base64
import os
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, online, part, playwright, say
from tests.processes.running import Demo

pytestmark = pytest.mark.browser
expect = playwright.expect

#: 2 × 1 pixels
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAYAAAD0In+KAAAAEUlEQVR4nGP4z8DwHwyBPAArnwX7ZJ9b3gAAAABJRU5ErkJggg=="
)
PHOTO = {"name": "harbour.png", "mimeType": "image/png", "buffer": PNG}
NOTES = {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"Bring an umbrella."}


def pick(page: Any, *files: dict[str, Any]) -> None:
    part(page, "file-input").set_input_files(list(files))


def fresh(page: Any) -> None:
    """A new chat, begun by a message."""
    part(page, "new-chat").click()
    say(page, "hello")
    answer(page)


def test_files_are_picked_sent_and_shown(visit: Open) -> None:
    page = visit()
    fresh(page)
    pick(page, PHOTO, NOTES)
    expect(part(page, "picked").locator("li")).to_have_count(2)
    part(page, "remove-file").last.click()
    pick(page, NOTES)
    part(page, "input").fill("Look at this!")
    part(page, "send").click()
    message = part(page, "message").filter(has_text="Look at this!")
    expect(message.locator('[data-cm="text"]')).to_have_text("Look at this!")
    picture = message.locator('[data-cm="picture"]')
    expect(picture).to_have_attribute("alt", "harbour.png")
    expect(picture).to_have_js_property("naturalWidth", 2)
    expect(message.locator('[data-cm="file"]')).to_have_text(re.compile("notes.txt.*18"))
    expect(part(page, "picked").locator("li")).to_have_count(0)
    answer(page)
    page.reload()
    online(page)
    expect(part(page, "message").filter(has_text="Look at this!").locator('[data-cm="picture"]')).to_be_visible()
    with page.expect_download() as download:
        page.locator('.web [data-cm="file"]').click()
    assert download.value.path().read_bytes() == NOTES["buffer"]


def test_a_message_may_be_files_alone_and_a_new_chat_may_begin_with_one(visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    pick(page, PHOTO)
    part(page, "send").click()
    message = page.locator('.web [data-cm="message"][data-role="user"]')
    expect(message.locator('[data-cm="picture"]')).to_be_visible()
    expect(message.locator('[data-cm="text"]')).to_have_count(0)
    expect(page.locator(".web .cm-header h2")).to_contain_text("harbour.png")


def test_files_are_dropped_and_pasted(visit: Open) -> None:
    page = visit()
    hand_over = """([kind, name]) => {
        const data = new DataTransfer();
        data.items.add(new File(["words"], name, {type: "text/plain"}));
        const options = {bubbles: true, cancelable: true};
        const event = kind === "drop"
            ? new DragEvent(kind, {...options, dataTransfer: data})
            : new ClipboardEvent(kind, {...options, clipboardData: data});
        document.querySelector('.web [data-cm="input"]').dispatchEvent(event);
    }"""
    page.evaluate(hand_over, ["drop", "dropped.txt"])
    page.evaluate(hand_over, ["paste", "pasted.txt"])
    expect(part(page, "picked").locator("li")).to_have_text([re.compile("dropped.txt"), re.compile("pasted.txt")])


def test_what_cannot_be_sent_is_said_at_once(visit: Open) -> None:
    page = visit()
    pick(page, {"name": "film.bin", "mimeType": "application/octet-stream", "buffer": bytes(21 * 1024 * 1024)})
    expect(part(page, "composer-problem")).to_have_text(re.compile("“film.bin” is too large: 20 MB at most"))
    pick(page, {"name": "nothing.txt", "mimeType": "text/plain", "buffer": b""})
    expect(part(page, "composer-problem")).to_have_text("“nothing.txt” is empty.")
    pick(page, *[{**NOTES, "name": f"{number}.txt"} for number in range(12)])
    expect(part(page, "composer-problem")).to_have_text("A message has at most 10 files.")
    expect(part(page, "picked").locator("li")).to_have_count(10)


def test_a_refused_file_keeps_the_message_with_the_reason(alone: Any) -> None:
    page = alone
    fresh(page)
    refusal = {"status": 400, "json": {"code": "too_many", "detail": "Too many files wait to be sent here."}}
    page.route("**/attachments/", lambda route: route.fulfill(**refusal))
    pick(page, NOTES)
    part(page, "input").fill("with notes")
    part(page, "send").click()
    pending = part(page, "pending")
    expect(pending).to_contain_text("notes.txt: Too many files wait to be sent here.")
    page.unroute("**/attachments/")
    part(page, "retry").click()
    expect(part(page, "message").filter(has_text="with notes").locator('[data-cm="file"]')).to_be_visible()


def test_a_file_picked_offline_waits_over_a_reload_and_goes_once(visit: Open, demo: Demo) -> None:
    page = visit()
    fresh(page)
    page.context.set_offline(True)
    page.evaluate("window.dispatchEvent(new Event('offline'))")
    pick(page, PHOTO)
    part(page, "input").fill("from the plane")
    part(page, "send").click()
    expect(part(page, "pending-files")).to_contain_text("harbour.png")
    page.wait_for_function(
        """() => new Promise((found) => {
            const open = indexedDB.open("crossmemory");
            open.onsuccess = () => {
                const rows = open.result.transaction("queue").objectStore("queue").getAll();
                rows.onsuccess = () => { open.result.close(); found(rows.result.length === 1); };
            };
        })"""
    )
    page.context.set_offline(False)
    page.reload()
    online(page)
    message = part(page, "message").filter(has_text="from the plane")
    expect(message.locator('[data-cm="picture"]')).to_be_visible()
    expect(message).to_have_count(1)
    expect(part(page, "pending")).to_have_count(0)


def test_a_deleted_message_takes_its_file_along(visit: Open) -> None:
    page = visit()
    fresh(page)
    pick(page, PHOTO)
    part(page, "input").fill("a mistake")
    part(page, "send").click()
    message = part(page, "message").filter(has_text="a mistake")
    url = message.locator("a.cm-picture").get_attribute("href")
    answer(page)
    message.locator('[data-cm="message-menu"]').click()
    page.locator(".web [data-cm=delete-message]").click()
    part(page, "ask-confirm").click()
    expect(page.locator('.web [data-cm="picture"]')).to_have_count(0)
    assert page.request.get(page.url.split("/demo/")[0] + url).status == 404


def test_what_the_phone_sends_is_shown_on_both(demo: Demo, visit: Open) -> None:
    """Two pictures as an album and a document, with their words, through the bot into the web's copy of the chat."""
    page = visit()
    phone = page.frame_locator("#phone")
    phone.get_by_label("Message as Ana").fill("The boat we saw")
    pictures = [{"name": f"{name}.png", "mimeType": "image/png", "buffer": PNG} for name in ("bow", "stern")]
    phone.locator("#files").set_input_files(pictures)
    expect(phone.locator("img.picture")).to_have_count(2)
    expect(phone.locator(".me .text").last).to_contain_text("The boat we saw")
    expect(phone.get_by_label("Message as Ana")).to_have_value("")
    page.locator('.web [data-cm="conversation"][data-surface="telegram"]').click()
    shown = part(page, "message").filter(has_text="The boat we saw")
    expect(shown.locator("img")).to_have_count(2)
    for number in range(2):
        expect(shown.locator("img").nth(number)).to_have_js_property("complete", True)
    phone.locator("#files").set_input_files(
        [{"name": "ticket.pdf", "mimeType": "application/pdf", "buffer": b"%PDF-1.4 a ticket"}]
    )
    expect(phone.get_by_role("link", name="ticket.pdf")).to_be_visible()
    expect(part(page, "message").filter(has_text="ticket.pdf")).to_be_visible()
    if folder := os.environ.get("LOOK_DIR"):
        page.screenshot(path=Path(folder) / "files.png")
