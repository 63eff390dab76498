"""The chat page where a person notices it: permissions, what waits, where one reads, who is signed in."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.conftest import Open, answer, online, order, part, playwright, say, sign_in
from tests.browser.mock import Played, event, said
from tests.processes.running import Demo

pytestmark = pytest.mark.browser
expect = playwright.expect

ARGUMENTS = {"to": "reception@aegeas.example", "options": {"late": True}}
ASKED = [
    event(1, "conversation.created", {"agent": "default", "title": "Trip", "surface": "web"}),
    said(2, "user", "Book the hotel, please."),
    event(3, "run.queued", {"trigger": 2}),
    event(4, "run.started", {"attempt": 1}),
    event(5, "tool.called", {"tool_call": "t0", "name": "calendar", "arguments": {"day": "2026-12-01"}}),
    event(6, "tool.completed", {"tool_call": "t0", "result": "free"}),
    event(7, "tool.called", {"tool_call": "t1", "name": "send_email", "arguments": ARGUMENTS}),
    event(
        8,
        "approval.requested",
        {
            "tool_call": "t1",
            "name": "send_email",
            "title": "Send the booking to the hotel?",
            "arguments": ARGUMENTS,
            "args_hash": "h1",
            "expires_at": "2026-11-30T23:00:00Z",
        },
    ),
]
OPEN = {"run": "awaiting_approval", "pending": [{"type": "approval", "tool_call": "t1"}]}
PERSON = {"type": "user", "id": "1"}
CODE = "<p>Run this:</p><pre><code>make demo</code></pre>"


def talk(count: int) -> list[dict[str, Any]]:
    """A conversation longer than the page."""
    first = event(1, "conversation.created", {"agent": "default", "title": "Talk", "surface": "web"})
    return [first, *(said(seq, "user" if seq % 2 else "assistant", f"Word {seq}") for seq in range(2, count))]


def played(page: Any, events: list[dict[str, Any]], **last: Any) -> Played:
    server = Played(page, list(events), **last)
    page.reload()
    online(page)
    return server


def distance(page: Any) -> int:
    """Pixels between what is in view and the end."""
    return int(part(page, "scroll").evaluate("e => Math.round(e.scrollHeight - e.scrollTop - e.clientHeight)"))


# Permissions


def test_a_permission_is_asked_for_given_once_and_resolved(visit: Open) -> None:
    page = visit()
    server = played(page, ASKED, **OPEN)
    card = part(page, "approval")
    expect(card).to_contain_text("Send the booking to the hotel?")
    expect(card).to_contain_text("reception@aegeas.example")
    expect(part(page, "thinking")).to_contain_text("waits for your permission")
    expect(part(page, "tool").first).to_have_text(re.compile("Used .*calendar"))
    part(page, "approve").click()
    expect(part(page, "approve")).to_be_disabled()
    frame = {"type": "approval.decide", "tool_call": "t1", "decision": "approved", "args_hash": "h1"}
    assert server.of("approval.decide") == [frame]
    server.tell("approval.decided", {"tool_call": "t1", "decision": "approved", "where": "web"}, actor=PERSON)
    expect(card).to_have_attribute("data-state", "approved")
    expect(part(page, "approve")).to_have_count(0)
    # The keyboard is where the card was, not at the top of the page.
    assert page.evaluate("document.activeElement.dataset.cm") == "approval"
    server.tell("tool.completed", {"tool_call": "t1", "result": "sent"})
    expect(part(page, "decided")).to_have_text(re.compile("Approved.*You.*Used .*send_email"))


def test_a_permission_decided_elsewhere_shows_who_and_where_and_a_late_answer_learns_it(visit: Open) -> None:
    page = visit()
    server = played(page, ASKED, **OPEN)
    part(page, "deny").click()
    told = {"decision": "approved", "by": PERSON, "where": "telegram", "at": "2026-11-30T10:00:08Z"}
    server.frame(type="nack", tool_call="t1", code="already_decided", detail="", retryable=False, **told)
    expect(part(page, "approval-note")).to_have_text(re.compile("too late.*Approved.*You.*Telegram"))
    server.tell("approval.decided", {"tool_call": "t1", "decision": "approved", "where": "telegram"}, actor=PERSON)
    expect(part(page, "decided")).to_have_text(re.compile("Approved.*You.*Telegram"))
    expect(part(page, "approval-note")).to_have_text("Your answer came too late: this had been decided.")


def test_what_is_replayed_without_being_open_has_no_buttons(visit: Open) -> None:
    page = visit()
    server = played(page, ASKED, run="running")
    expect(part(page, "approval-closed")).to_have_text("No longer open.")
    expect(part(page, "approve")).to_have_count(0)
    data = ASKED[-1]["data"] | {"tool_call": "t2", "title": None}
    server.tell("approval.requested", data)
    expect(part(page, "approve")).to_have_count(1)
    expect(part(page, "approval").last).to_contain_text(re.compile("May the assistant use .*send_email"))


# What is said meanwhile


def test_what_is_said_during_an_answer_says_what_becomes_of_it(visit: Open) -> None:
    page = visit()
    server = played(page, ASKED[:4], run="running")
    server.tell("message.completed", {"message": "u2", "role": "user", "text": "By the window."}, actor=PERSON)
    server.tell("steer.accepted", {"message": "u2"})
    expect(part(page, "steer")).to_have_text("will be read in between or answered next")
    server.tell("steer.consumed", {"message": "u2"})
    expect(part(page, "steer")).to_have_text("read in between")
    server.tell("steer.promoted", {"message": "u2"})
    expect(part(page, "steer")).to_have_count(0)


# What can be done with a message


def choose(page: Any, message: Any, name: str) -> None:
    message.locator("[data-cm=message-menu]").click()
    part(page, name).click()


def answers(page: Any, pattern: str, body: Any = None) -> list[str]:
    """Answer for the server; the methods it was asked with."""
    calls: list[str] = []

    def answer_it(route: Any) -> None:
        calls.append(route.request.method)
        route.fulfill(json=body) if body else route.fulfill(status=204)

    page.route(pattern, answer_it)
    return calls


def answered() -> list[dict[str, Any]]:
    done = {"message": "a1", "role": "assistant", "text": "Run this: make demo", "html": CODE}
    return [*ASKED[:4], event(5, "message.completed", done), event(6, "run.completed", {"message": "a1"})]


def test_an_own_message_is_edited_and_answered_again(visit: Open) -> None:
    page = visit()
    server = played(page, answered())
    calls: list[tuple[str, str, Any]] = []

    def rest(route: Any) -> None:
        request = route.request
        calls.append((request.method, request.url.rsplit("/", 3)[-2], request.post_data_json))
        route.fulfill(json={})

    page.route(re.compile(r"/conversations/[^/]+/(messages/|again/)"), rest)
    mine = page.locator('.web [data-cm="message"][data-role="user"]')
    choose(page, mine, "edit-message")
    part(page, "edit-input").fill("Book the other hotel, please.")
    part(page, "edit-save").click()
    expect(part(page, "edit-dialog")).to_have_count(0)
    assert calls == [("PATCH", "m2", {"text": "Book the other hotel, please."}), ("POST", "again", {})]
    server.tell("message.edited", {"message": "m2", "text": "Book the other hotel, please."}, actor=PERSON)
    expect(mine).to_contain_text("Book the other hotel, please.")
    expect(part(mine.page, "meta").first).to_contain_text("edited")


def test_an_answer_can_be_had_again_and_a_broken_one_offers_it(visit: Open) -> None:
    page = visit()
    server = played(page, answered())
    calls = answers(page, "**/again/", {"queued": True})
    choose(page, part(page, "message").last, "answer-again")
    expect.soft(part(page, "problem")).to_be_hidden()
    server.tell("run.queued", {"trigger": 2}, run="r2")
    server.tell("run.started", {"attempt": 1}, run="r2")
    server.tell("message.started", {"message": "a2", "role": "assistant"}, run="r2")
    server.tell("message.interrupted", {"message": "a2", "text": "I was", "reason": "failed"}, run="r2")
    expect(part(page, "again")).to_have_count(0)
    server.tell("run.failed", {"code": "provider"}, run="r2")
    part(page, "again").click()
    server.tell("run.queued", {"trigger": 2}, run="r3")
    expect(part(page, "again")).to_have_count(0)
    assert calls == ["POST", "POST"]


def test_deleting_a_message_asks_first(visit: Open) -> None:
    page = visit()
    server = played(page, answered())
    calls = answers(page, "**/messages/a1/")
    choose(page, part(page, "message").last, "delete-message")
    part(page, "ask-cancel").click()
    assert calls == []
    choose(page, part(page, "message").last, "delete-message")
    part(page, "ask-confirm").click()
    expect(part(page, "ask")).to_have_count(0)
    server.tell("message.redacted", {"message": "a1"}, actor=PERSON)
    expect(part(page, "message").last).to_contain_text("This message was removed.")
    assert calls == ["DELETE"]
    expect(part(page, "message").last.locator("[data-cm=message-menu]")).to_have_count(0)


def test_the_server_edits_answers_again_and_deletes(demo: Demo, visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "The cellar key hangs behind the door 17.")
    answer(page)
    mine = page.locator('.web [data-cm="message"][data-role="user"]')
    choose(page, mine, "edit-message")
    part(page, "edit-input").fill("The cellar key hangs behind the door 18.")
    part(page, "edit-save").click()
    expect(part(page, "edit-dialog")).to_have_count(0)
    expect(mine).to_contain_text("door 18.")
    expect(part(page, "thinking")).to_have_count(0)
    answer(page)
    choose(page, mine, "delete-message")
    part(page, "ask-confirm").click()
    expect(mine).to_have_attribute("data-status", "redacted")
    page.reload()
    online(page)
    expect(mine).to_have_attribute("data-status", "redacted")
    expect(page.locator(".web")).not_to_contain_text("door 18.")


def test_code_is_copied(visit: Open) -> None:
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    played(page, answered())
    part(page, "copy-block").click()
    expect(part(page, "copy-block")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "make demo"


def unread(page: Any) -> int:
    found = re.match(r"\((\d+)\) ", page.title())
    return int(found[1]) if found else 0


def test_the_title_counts_what_nobody_has_looked_at(visit: Open) -> None:
    page = visit()
    server = played(page, answered())
    page.wait_for_timeout(1_000)  # until what is there counts as read
    assert server.of("read")[-1]["seq"] == 6
    others = unread(page)
    page.evaluate("document.hasFocus = () => false")
    server.tell("message.completed", {"message": "a9", "role": "assistant", "text": "News."}, run="r9")
    expect(part(page, "message").last).to_contain_text("News.")
    page.wait_for_timeout(1_000)
    assert unread(page) == others + 1
    assert server.of("read")[-1]["seq"] == 6
    page.evaluate("delete document.hasFocus; window.dispatchEvent(new Event('focus'))")
    page.wait_for_timeout(1_000)
    assert unread(page) == others
    assert server.of("read")[-1]["seq"] == 7


# Where one reads


def test_who_is_at_the_end_stays_there_over_a_reconnect(visit: Open) -> None:
    page = visit()
    server = played(page, talk(60))
    part(page, "newest").click()
    assert distance(page) < 5
    server.events += [said(60 + more, "assistant", f"Missed {more}") for more in range(8)]
    server.drop()
    expect(part(page, "message").last).to_contain_text("Missed 7")
    assert distance(page) < 5
    expect(part(page, "newest")).to_be_hidden()


def test_who_reads_above_is_never_moved(visit: Open) -> None:
    page = visit()
    server = played(page, talk(60))
    scroll = part(page, "scroll")
    scroll.evaluate("e => { e.scrollTop = 300 }")
    server.events += [said(60 + more, "assistant", f"Missed {more}") for more in range(8)]
    server.drop()
    expect(part(page, "message").last).to_contain_text("Missed 7")
    server.tell("message.completed", {"message": "live", "role": "assistant", "text": "And this."})
    expect(part(page, "message").last).to_contain_text("And this.")
    assert scroll.evaluate("e => e.scrollTop") == 300
    part(page, "newest").click()
    assert distance(page) < 5


def test_a_reload_in_mid_stream_goes_on_where_it_was(demo: Demo, visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "For the trip: passports, tickets, towels, sunscreen, hats, a torch, the camera, a map, olives, bread.")
    answer(page)
    part(page, "input").fill("What do you remember?")
    part(page, "input").press("Enter")
    writing = page.locator('.web [data-cm="message"][data-status="writing"] [data-cm="text"]')
    expect(writing).to_have_text(re.compile(r"\w+ \w+"))
    before = writing.inner_text()
    page.reload()
    online(page)
    expect(part(page, "message")).to_have_count(4)
    whole = answer(page)
    assert whole.startswith(before.split()[0])
    assert "bread" in whole
    held = order(page)
    page.reload()
    online(page)
    expect(part(page, "message")).to_have_count(4)
    assert order(page) == held


# Without a network, without storage, and as somebody else


def test_what_is_written_offline_is_kept_and_sent_once(visit: Open) -> None:
    page = visit()
    part(page, "new-chat").click()
    say(page, "Before the flight.")
    answer(page)
    sockets: list[Any] = []
    away = {"now": False}

    def through(socket: Any) -> None:
        if away["now"]:
            socket.close(code=1011, reason="")
            return
        socket.connect_to_server()
        sockets.append(socket)

    page.route_web_socket("**/ws/crossmemory/**", through)
    page.route(
        "**/events/stream/**", lambda route: route.abort("internetdisconnected") if away["now"] else route.continue_()
    )
    page.reload()
    online(page)
    away["now"] = True
    sockets[-1].close(code=1011, reason="")
    expect(part(page, "offline")).to_be_visible()
    for text in ("First above the clouds.", "Second above the clouds."):
        part(page, "input").fill(text)
        part(page, "input").press("Enter")
    expect(part(page, "pending")).to_have_count(2)
    page.reload()
    expect(part(page, "pending")).to_have_count(2)
    expect(part(page, "message").first).to_contain_text("Before the flight.")
    away["now"] = False
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(part(page, "pending")).to_have_count(0, timeout=40_000)
    expect(part(page, "offline")).to_be_hidden()
    mine = page.locator('.web [data-cm="message"][data-role="user"] [data-cm="text"]')
    expect(mine).to_have_text(["Before the flight.", "First above the clouds.", "Second above the clouds."])


DENIED = """
Object.defineProperty(window, "indexedDB", { get() { throw new DOMException("denied", "SecurityError"); } });
Object.defineProperty(window, "sessionStorage", { get() { throw new DOMException("denied", "SecurityError"); } });
"""


def test_without_storage_everything_works(visit: Open) -> None:
    page = visit()
    page.context.add_init_script(DENIED)
    page.reload()
    online(page)
    part(page, "new-chat").click()
    say(page, "The boat is called Calypso.")
    answer(page)
    page.reload()
    online(page)
    expect(part(page, "message").first).to_contain_text("Calypso")


def test_signed_out_elsewhere_then_somebody_else_signs_in(alone: Any) -> None:
    page = alone
    say(page, "Only Ana may read this.")
    answer(page)
    conversation = page.evaluate("document.querySelector('crossmemory-chat').conversation")
    part(page, "input").fill("A draft of Ana's")
    page.wait_for_function(KEPT, arg=conversation)
    other = page.context.new_page()
    other.goto(page.url)
    online(other)
    other.locator(".account summary").click()
    other.get_by_role("button", name="Sign out").click()
    other.wait_for_url("**/accounts/login/")
    # The first tab hears of it at its next look at the list, at the latest.
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(part(page, "signed-out")).to_be_visible(timeout=40_000)
    expect(page.locator(".web")).not_to_contain_text("Only Ana may read this.")
    sign_in(other, "staff")
    expect(part(other, "input")).to_have_value("")
    expect(other.locator(".web")).not_to_contain_text("Only Ana may read this.")
    assert "Only Ana" not in json.dumps(other.evaluate(EVERYTHING))
    assert "draft of Ana" not in json.dumps(other.evaluate(EVERYTHING))


EVERYTHING = """async () => {
  const got = (request) => new Promise((done) => { request.onsuccess = () => done(request.result); });
  const db = await got(indexedDB.open("crossmemory"));
  const all = {};
  for (const name of db.objectStoreNames) all[name] = await got(db.transaction(name).objectStore(name).getAll());
  db.close();
  return all;
}"""
KEPT = f"async (id) => JSON.stringify(await ({EVERYTHING})()).includes('Only Ana may read this.')"


# For everybody


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(visit: Open, axe: Callable[[Any], None], scheme: str, width: int) -> None:
    page = visit(width=width, scheme=scheme)
    axe(page)
    server = played(page, ASKED, **OPEN)
    axe(page)
    server.tell("approval.decided", {"tool_call": "t1", "decision": "approved", "where": "telegram"}, actor=PERSON)
    server.tell("tool.failed", {"tool_call": "t1", "error": "No such address."})
    seen = {"count": 3, "elsewhere": [{"surface": "telegram", "label": "Telegram", "count": 1}], "left_out": 1}
    done = {"message": "a1", "role": "assistant", "text": "x", "html": CODE, "saw": seen, "degraded": True}
    server.tell("message.completed", done)
    server.tell("memory.boundary", {})
    server.tell("run.failed", {"code": "provider", "detail": "No answer."})
    expect(part(page, "again")).to_be_visible()
    axe(page)
    part(page, "message-menu").last.click()
    axe(page)
    page.keyboard.press("Escape")
    choose(page, page.locator('.web [data-cm="message"][data-role="user"]'), "edit-message")
    axe(page)
    page.keyboard.press("Escape")
    part(page, "chat-menu").locator("summary").click()
    axe(page)
    page.keyboard.press("Escape")
    if width < 1000:
        part(page, "chats").click()
        axe(page)
    part(page, "connect").first.click()
    axe(page)


def test_a_pause_is_said_while_it_lasts(visit: Open) -> None:
    page = visit()
    told: list[str | None] = ["I am taking a break.\nUntil ten."]

    def paused(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        for chat in found["results"]:
            chat["paused"] = told[0]
        route.fulfill(response=answer, json=found)

    page.route("**/api/crossmemory/conversations/", paused)
    played(page, [*talk(3), event(3, "run.queued", {"trigger": 2})], run="queued")
    expect(part(page, "paused")).to_have_text("I am taking a break. Until ten.")
    told[0] = None
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(part(page, "paused")).to_be_hidden()
