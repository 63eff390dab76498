"""The Python client's fold, keys and text for the terminal: pure."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from crossmemory.attach import fold
from crossmemory.attach.terminal.editor import Action, Editor
from crossmemory.attach.terminal.harmless import Wrapper, columns, cut, harmless, one_line
from crossmemory.attach.terminal.screen import Screen

AT = "2026-11-30T10:00:00.000000Z"
LATER = "2026-12-01T10:00:00.000000Z"


def log(*events: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Events of (type, data[, run[, at]])."""
    return [
        {
            "seq": seq,
            "type": kind,
            "v": 1,
            "at": more[1] if len(more) > 1 else AT,
            "actor": {"type": "user" if data.get("role") == "user" else "agent", "id": "1"},
            "surface": "web",
            "run": more[0] if more else None,
            "client_id": data.get("client_id"),
            "data": data,
        }
        for seq, (kind, data, *more) in enumerate(events, 1)
    ]


APPROVAL = {"tool_call": "t1", "name": "send", "arguments": {"to": "b\x1b[2J"}, "args_hash": "h", "expires_at": AT}
TALK = log(
    ("conversation.created", {"title": "Trip", "surface": "web", "agent": "default"}),
    ("message.completed", {"message": "m1", "role": "user", "text": "hi", "client_id": "c1"}),
    ("run.queued", {"trigger": 2}, "r1"),
    ("run.started", {"attempt": 1}, "r1"),
    ("message.started", {"message": "m2", "role": "assistant"}, "r1"),
    ("something.new", {"of": "a later version"}),
    ("approval.requested", APPROVAL, "r1"),
    ("message.completed", {"message": "m3", "role": "user", "text": "and?"}),
    ("steer.accepted", {"message": "m3"}, "r1"),
    ("approval.decided", {"tool_call": "t1", "decision": "approved", "where": "telegram"}, "r1"),
    ("tool.completed", {"tool_call": "t1", "result": 1}, "r1"),
    ("message.completed", {"message": "m2", "role": "assistant", "text": "hello"}, "r1"),
    ("run.completed", {"message": "m2"}, "r1"),
    ("message.edited", {"message": "m1", "text": "[photo] hi!", "parts": [{"type": "photo", "words": "photo"}]}),
    ("message.edited", {"message": "m1", "text": "[photo] hi!!"}),
    ("run.queued", {"trigger": 2}, "r2", LATER),
    ("run.started", {"attempt": 1}, "r2", LATER),
    ("message.started", {"message": "m4"}, "r2", LATER),
    ("run.stopped", {"by": "user"}, "r2", LATER),
    ("message.redacted", {"message": "m3"}),
    ("memory.boundary", {}),
)


def batch(events: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    head = {"epoch": "e", "replay_id": "1", "mode": "full", "reset": True, "batch": 0, "last": True, "gap": None}
    tail = {"run": "idle", "pending": [], "partials": []}
    return {**head, "head": len(TALK), "floor": 2, "events": events, **tail, **values}


@pytest.mark.parametrize("cut_at", range(len(TALK) + 1))
def test_reload_equals_live_after_every_event(cut_at: int) -> None:
    live = fold.apply_batch(fold.State(), batch([]))
    for event in TALK[:cut_at]:
        live = fold.reduce(live, event)
    again = fold.apply_batch(fold.State(), batch(TALK[:cut_at], run=live.run, head=cut_at))
    assert fold.canonical(again) == fold.canonical(live)
    assert fold.fold(live, TALK[:cut_at]) == live


REDUCER = Path(__file__).resolve().parents[2] / "crossmemory/static/crossmemory/reducer.js"
IN_NODE = f"""
import {{ applyBatch, canonical, initial }} from {json.dumps(REDUCER.as_uri())};
import {{ readFileSync }} from "node:fs";
const folded = JSON.parse(readFileSync(0, "utf8")).map((batch) => canonical(applyBatch(initial("c"), batch)));
console.log(JSON.stringify(folded));
"""


@pytest.mark.one_database
@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_page_folds_the_same() -> None:
    batches = [batch(TALK[:count], head=count) for count in range(len(TALK) + 1)]
    command = ["node", "--input-type=module", "-e", IN_NODE]
    done = subprocess.run(command, input=json.dumps(batches), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [fold.canonical(fold.apply_batch(fold.State(), each)) for each in batches]


def test_an_edit_changes_the_files_only_where_it_names_them() -> None:
    state = fold.apply_batch(fold.State(), batch(TALK))
    (message,) = [item for item in state.items if item.get("id") == "m1"]
    assert (message["text"], message["parts"]) == ("[photo] hi!!", [{"type": "photo", "words": "photo"}])


def test_the_run_is_told() -> None:
    states = []
    state = fold.State(epoch="e")
    for event in TALK:
        state = fold.reduce(state, event)
        states.append(state.run)
    assert states[2:5] == ["queued", "running", "running"]
    assert states[6:9] == ["awaiting_approval"] * 3
    assert states[9:13] == ["running", "running", "running", "idle"]
    assert states[18] == "idle"
    assert [item.get("status") for item in state.items if item["kind"] == "message"] == [
        "complete",
        "complete",
        "redacted",
        "interrupted",
    ]


def test_streamed_text_is_added_once_and_asked_for_when_a_piece_is_lost() -> None:
    state = fold.apply_batch(fold.State(), batch(TALK[:5], run="running", partials=[{"message": "m2", "text": "añ🙂"}]))
    state, missing = fold.apply_delta(state, {"message": "m2", "offset": 3, "text": "os"})
    assert (state.items[1]["text"], missing) == ("añ🙂os", None)
    again, missing = fold.apply_delta(state, {"message": "m2", "offset": 3, "text": "os"})
    assert (again, missing) == (state, None)
    same, missing = fold.apply_delta(state, {"message": "m2", "offset": 9, "text": "?"})
    assert (same, missing) == (state, 5)


def lines(screen: Screen, state: fold.State) -> list[str]:
    screen.take(state)
    return screen.draw([], "", 0).splitlines()


def test_what_is_shown_live_says_how_a_permission_was_decided() -> None:
    screen = Screen(live=False, color=False)
    state = fold.State(epoch="e")
    shown: list[str] = []
    for event in TALK:
        state = fold.reduce(state, event)
        shown += lines(screen, state)
    text = "\n".join(shown)
    assert "[1] The assistant asks for permission: send" in text
    assert "[1] Allowed: send · Telegram" in text
    assert text.index("[1] Allowed") < text.index("hello")
    assert "\x1b" not in text
    assert screen.open(1) == "t1"
    assert "Tuesday, Dec. 1, 2026" in text
    replayed = "\n".join(lines(Screen(live=False, color=False), state))
    assert "[1] Allowed: send · Telegram" in replayed
    assert "/approve" not in replayed
    assert "This message was removed." in replayed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a\nb    c"),
        ("\x1b[2J\x1b]0;evil\x07", "␛[2J␛]0;evil␇"),
        ("\x9b2J\x7f\x00", "\ufffd2J␡␀"),
        ("a\u202eb\u2066c\u200f", "abc"),
        ("a\r\nb\rc", "a\nbc"),
        ("x\u2028y", "x\ny"),
        ("tag\U000e0041", "tag"),
        ("\ud800", "\ufffd"),
        ("👩\u200d💻 سلام e\u0301", "👩\u200d💻 سلام e\u0301"),
    ],
)
def test_nothing_in_a_text_commands_the_terminal(text: str, shown: str) -> None:
    assert harmless(text) == shown
    assert "".join(map(harmless, text)) == shown  # in pieces as whole


def test_lines_fit() -> None:
    assert one_line(" a\n\x1b b ") == "a ␛ b"
    assert columns("añ漢e\u0301") == 5
    assert cut("漢字漢字", 5) == "漢字…"
    wrapper = Wrapper(10)
    text = "one two three four 漢字漢字漢字漢字 " + "x" * 25 + "\nend"
    out = [line for char in text for line in wrapper.feed(char)] + [wrapper.flush()]
    assert all(columns(line) <= 10 for line in out)
    assert "".join(out).replace(" ", "") == text.replace(" ", "").replace("\n", "")
    whole = Wrapper(10)
    assert [*whole.feed(text), whole.flush()] == out


@pytest.mark.parametrize(
    ("keys", "actions"),
    [
        (b"hello\r", [Action("line", "hello")]),
        (b"helo\x1b[Dl\x1b[C!\x7f\n", [Action("line", "hello")]),
        ("año\r".encode(), [Action("line", "año")]),
        (b"one two\x17three\x01>\x05<\r", [Action("line", ">one three<")]),
        (b"gone\x15\r  \r", []),
        (b"a\x1b\rb\r", [Action("line", "a\nb")]),
        (b"\x1b[200~x\ry\x1b[31m\x03\x1b[201~\r", [Action("line", "x\ny")]),
        (b"one\rtwo\r\x1b[A\x1b[A\r", [Action("line", "one"), Action("line", "two"), Action("line", "one")]),
        (b"abc\x02d", [Action("detach")]),
        (b"\x02xd\r", [Action("line", "d")]),
        (b"\x03", [Action("detach")]),
        (b"\x04", [Action("detach")]),
        (b"\x1a\x0c", [Action("suspend"), Action("redraw")]),
        (b"\x1b[999;1Rq\x07\r", [Action("line", "q")]),
    ],
)
def test_keys(keys: bytes, actions: list[Action]) -> None:
    whole = Editor()
    assert whole.feed(keys) == actions
    slow = Editor()
    assert [action for key in keys for action in slow.feed(bytes([key]))] == actions


@pytest.mark.parametrize("at", [0, 3, 200, 399])
def test_a_long_line_of_input_stays_in_its_row(at: int) -> None:
    editor = Editor()
    editor.feed("漢x\t".encode() * 133)
    editor.at = at
    line, column = editor.shown(40)
    assert columns(line) <= 40
    assert 2 <= column < 40


def test_a_delta_that_overlaps_adds_what_goes_beyond() -> None:
    state = fold.fold(fold.State(epoch="e"), TALK[:5])
    state, missing = fold.apply_delta(state, {"message": "m2", "offset": 0, "text": "🙂 hel"})
    state, missing = fold.apply_delta(state, {"message": "m2", "offset": 2, "text": "hello 🙂"})
    assert (missing, state.items[-1]["text"], state.items[-1]["length"]) == (None, "🙂 hello 🙂", 9)
    assert fold.apply_delta(state, {"message": "m2", "offset": 1, "text": " hello"}) == (state, None)
    assert fold.apply_delta(state, {"message": "m2", "offset": 10, "text": "x"}) == (state, 9)
