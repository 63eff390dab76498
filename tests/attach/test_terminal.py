"""`manage.py crossmemory_attach` as a real process: on a terminal of its own, and with pipes."""

import asyncio
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from django.conf import settings as site
from django.db import connection, connections

from crossmemory import intake, log, turns
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Message, Owner, Run
from crossmemory.runs import engine
from tests.support.runner import ScriptedAgent, slowly

pytestmark = [pytest.mark.django_db(transaction=True)]

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z])")
SECONDS = 20


def environment(settings: str = "tests.support.other_process", **more: str) -> dict[str, str]:
    """What leads the process to this test's database."""
    place = {name: str(connection.settings_dict[name]) for name in ("NAME", "HOST", "USER", "PORT")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "NO_COLOR"))}
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": settings,
        "TEST_SETTINGS": os.environ["DJANGO_SETTINGS_MODULE"],
        "TEST_DATABASE": json.dumps(place),
        "TEST_DIR": str(site.TEST_DIR),
        "TERM": "xterm",
        **more,
    }


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "django", "crossmemory_attach", *arguments]


def attach(*arguments: str, said: str | None = None, **options: str) -> subprocess.CompletedProcess[str]:
    """Run it with pipes until it ends by itself."""
    return subprocess.run(
        command(*arguments), input=said, env=environment(**options), capture_output=True, text=True, timeout=60
    )


class Terminal:
    """A terminal of its own with the command on it. `with Terminal("ana", "Trip") as terminal:`"""

    def __init__(self, *arguments: str, rows: int = 24, columns: int = 60, **options: str) -> None:
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(self.slave)
        self.raw = ""
        self.process = subprocess.Popen(
            command(*arguments),
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            env=environment(**options),
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    @property
    def text(self) -> str:
        """All that was written, without what moves and colours."""
        return _ESCAPES.sub("", self.raw).replace("\r", "")

    def press(self, keys: str | bytes) -> None:
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def read(self, seconds: float) -> None:
        if select.select([self.master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.raw += os.read(self.master, 1 << 16).decode("utf-8", "replace")

    @property
    def readable(self) -> bool:
        return bool(select.select([self.master], [], [], 0)[0])

    def until(self, words: str, after: int = 0) -> int:
        """Wait for words; where they end in `text`, to look further from there."""
        deadline = time.monotonic() + SECONDS
        while (at := self.text.find(words, after)) < 0:
            waits = time.monotonic() < deadline and (self.process.poll() is None or self.readable)
            assert waits, f"{words!r} did not come:\n{self.text[-3000:]}"
            self.read(0.1)
        return at + len(words)

    def ended(self) -> int:
        deadline = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on:\n{self.text[-3000:]}"
            self.read(0.05)
        while self.readable:
            self.read(0)
        assert termios.tcgetattr(self.slave) == self.before
        assert "\x1b[?2004l" in self.raw
        return int(self.process.returncode)


@pytest.fixture
def trip(user: Any) -> Conversation:
    return log.create(Owner.of(user), "web", "Trip")


@pytest.fixture
def phone(user: Any) -> Conversation:
    return log.get_or_create_singleton(Owner.of(user), "telegram", "[Telegram]")


def say(conversation: Conversation, text: str) -> Any:
    return intake.say(conversation, text, author=Actor("user", str(conversation.user_id)))


def answered(conversation: Conversation, text: str) -> Any:
    return log.append_message(conversation, NewMessage("assistant", Actor("agent", "default"), text))


@contextlib.contextmanager
def answering() -> Iterator[threading.Thread]:
    """The runs that wait are carried out meanwhile, as a server does."""

    def work() -> None:
        asyncio.run(engine.run_waiting("a server"))
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield thread
    thread.join(SECONDS)
    assert not thread.is_alive()


def eventually(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + SECONDS
    while not (found := look()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.05)
    return found


def test_a_conversation_is_replayed_followed_and_left_as_it_is(trip: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = lambda context: slowly("Good ", "morning, ", "Ana. ", *(f"{n} " for n in range(40)), pause=0.03)
    say(trip, "hello from before")
    with Terminal("ana", "Trip") as terminal:
        at = terminal.until("You\nhello from before\n")
        terminal.until("Ctrl-B d detaches")
        terminal.press("and añother\r")
        at = terminal.until("You\nand añother\n", at)
        stored = eventually(lambda: Message.objects.filter(text="and añother").first())
        assert stored.client_id
        assert stored.author_id == str(trip.user_id)
        terminal.until("Your message is next")
        with answering():
            at = terminal.until("Assistant\n", at)
            at = terminal.until("Good morning", at)
            terminal.until("writing…", at)
            terminal.press("\x02d")
            assert terminal.ended() == 0
            terminal.until("Detached")
    answer = Message.objects.get(role="assistant")
    assert (answer.status, answer.text[-3:]) == ("complete", " 39")  # detaching stopped nothing
    trip.refresh_from_db()
    assert trip.read_seq > 0


def test_what_others_say_elsewhere_comes_live(trip: Conversation) -> None:
    with Terminal("ana", str(trip.uid)[:8]) as terminal:
        at = terminal.until("/help says what else there is")
        say(trip, "from the phone's browser")
        at = terminal.until("You\nfrom the phone's browser\n", at)
        answered(trip, "Noted.")
        terminal.until("Assistant\nNoted.\n", at)
        terminal.press("\x03")
        assert terminal.ended() == 0


def test_an_answer_can_be_stopped(trip: Conversation, script: type[ScriptedAgent]) -> None:
    script.script = lambda context: slowly(*(f"word{n} " for n in range(2000)), pause=0.02)
    with Terminal("ana", "Trip") as terminal:
        terminal.until("/help says")
        terminal.press("count\r")
        eventually(Run.objects.filter(status="queued").exists)
        with answering():
            at = terminal.until("word5")
            terminal.press("/stop\r")
            terminal.until("Stopped here.", at)
        terminal.press("\x04")
        assert terminal.ended() == 0
    assert Run.objects.get().status == "stopped"


def test_text_cannot_command_the_terminal(trip: Conversation) -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\x08\x7f"
    say(trip, evil)
    log.rename(trip, "T\x1b[5mrip\u202e", Actor("user", "1"))
    with Terminal("ana", str(trip.uid)) as terminal:
        terminal.until("/help says")
        terminal.press(b"\x1b[200~pasted \x1b]0;owned\x07\x1b[201~")
        terminal.until("> pasted")
        terminal.press(b"\x02d")
        assert terminal.ended() == 0
    assert "␛]0;owned␇␛[2J" in terminal.text
    assert "T␛[5mrip" in terminal.text
    assert not set("\x07\x08\x7f\x9b\u202e\u2066") & set(terminal.raw)
    for sequence in ("\x1b]", "\x1b[5m", "\x1b[2J\x9b"):
        assert sequence not in terminal.raw


def test_a_permission_is_given_from_the_terminal(trip: Conversation) -> None:
    say(trip, "ring the bell")
    run = turns.claim(Run.objects.get().pk, "w", lambda *_: None)
    assert run is not None
    asked = turns.Request("ring_bell", {"times": 3, "why": "\u202e"})
    turns.await_approval(run, None, "", [asked], None, saw={}, outgoing=lambda *_: None)
    with Terminal("ana", "Trip") as terminal:
        at = terminal.until("[1] The assistant asks for permission: ring_bell")
        terminal.until('"why": ""', at)
        terminal.until("The assistant waits for your permission", at)
        terminal.press("/approve 7\r")
        at = terminal.until("Say which one", at)
        terminal.press("/approve 1\r")
        at = terminal.until("[1] Allowed: ring_bell", at)
        terminal.press("/deny 1\r")
        terminal.until("No permission is being asked for.", at)
        terminal.press("\x02d")
        assert terminal.ended() == 0
    assert run.tool_calls.get().status == "approved"


def test_a_surfaces_conversation_is_read_and_its_reason_told(phone: Conversation) -> None:
    say(phone, "from the phone")
    with Terminal("ana", "telegram") as terminal:
        terminal.until("You\nfrom the phone\n")
        terminal.until("This is your Telegram conversation.")
        terminal.press("not here\r")
        terminal.until("Not sent: This conversation belongs to another surface")
        terminal.until("> not here")  # nothing typed is lost
        terminal.press("\x03")
        assert terminal.ended() == 0
    assert Message.objects.count() == 1


def test_redacted_text_leaves_the_screen(trip: Conversation) -> None:
    stored = say(trip, "my secret")
    with Terminal("ana", "Trip") as terminal:
        terminal.until("my secret")
        terminal.until("/help says")
        length = len(terminal.raw)
        log.redact(Message.objects.select_related("conversation").get(pk=stored.id), Actor("user", "1"))
        terminal.until("This message was removed.")
        assert "\x1b[2J\x1b[3J" in terminal.raw[length:]
        assert "my secret" not in terminal.raw[terminal.raw.rindex("\x1b[3J") :]
        terminal.press("\x03")
        assert terminal.ended() == 0


def test_deleting_the_conversation_ends_it_with_a_word(trip: Conversation) -> None:
    from crossmemory import erase

    with Terminal("ana", "Trip") as terminal:
        terminal.until("/help says")
        erase.conversation(trip)
        assert terminal.ended() == 1
        terminal.until("This conversation was deleted.")


def test_signals_leave_the_terminal_as_it_was(trip: Conversation) -> None:
    with Terminal("ana", "Trip") as terminal:
        at = terminal.until("/help says")
        os.kill(terminal.process.pid, signal.SIGSTOP)
        termios.tcsetattr(terminal.slave, termios.TCSANOW, terminal.before)  # as a shell does
        answered(trip, "said meanwhile")
        os.kill(terminal.process.pid, signal.SIGCONT)
        at = terminal.until("said meanwhile", at)
        terminal.press("\x1a")  # nobody could wake it here: the kernel lets it go on
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
        answered(trip, "narrow " * 10)
        terminal.until("narrow narrow narrow narrow\n", at)
        assert termios.tcgetattr(terminal.slave) != terminal.before
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 0


def test_reading_only_sends_nothing_and_marks_nothing(trip: Conversation) -> None:
    say(trip, "hello")
    trip.refresh_from_db()
    read = trip.read_seq
    with Terminal("ana", "Trip", "--read-only") as terminal:
        at = terminal.until("Reading only. Ctrl-B d detaches.")
        terminal.press("typed\r")
        answered(trip, "an answer")
        terminal.until("an answer", at)
        terminal.press("\x02d")
        assert terminal.ended() == 0
    trip.refresh_from_db()
    assert trip.read_seq == read
    assert not Message.objects.filter(text="typed").exists()


def test_it_speaks_the_language_of_the_terminal(trip: Conversation) -> None:
    say(trip, "hola")
    with Terminal("ana", "Trip", LANG="es_ES.UTF-8") as terminal:
        terminal.until("Tú\nhola\n")
        terminal.until("Ctrl-B d")
        terminal.until("Tu mensaje es el siguiente")
        terminal.press("\x02d")
        assert terminal.ended() == 0


def test_colours_can_be_left_out(trip: Conversation) -> None:
    with Terminal("ana", "Trip", "--no-color") as terminal:
        terminal.until("/help says")
        terminal.press("\x03")
        assert terminal.ended() == 0
    assert "\x1b[1m" not in terminal.raw


def test_without_a_conversation_they_are_listed(trip: Conversation, phone: Conversation) -> None:
    listed = attach("ana")
    assert listed.returncode == 0
    assert re.findall(r"^  ([0-9a-f]{8})  \S+ \S+  (.+)$", listed.stdout, re.MULTILINE) == [
        (str(phone.uid)[:8], "[Telegram]"),
        (str(trip.uid)[:8], "Trip"),
    ]
    rows = [json.loads(line) for line in attach("ana", "--json").stdout.splitlines()]
    assert [(row["id"], row["surface"]) for row in rows] == [(str(phone.uid), "telegram"), (str(trip.uid), "web")]


def test_who_and_what_is_not_there_is_told_with_what_is(trip: Conversation, other: Any) -> None:
    unknown = attach("nobody")
    assert (unknown.returncode, unknown.stdout) == (1, "")
    assert "There is no user “nobody”. There are: ana, ben." in unknown.stderr
    missing = attach("ana", "Nowhere")
    assert missing.returncode == 1
    assert "There is no conversation “Nowhere”." in missing.stderr
    assert str(trip.uid)[:8] in missing.stderr
    foreign = attach("ben", str(trip.uid))
    assert foreign.returncode == 1
    assert "Trip" not in foreign.stderr


def test_a_pipe_says_and_prints_the_answer(trip: Conversation, user: Any) -> None:
    done = attach(
        "ana", "Trip", said="My train leaves at nine.\nWhen is my train?\n", settings="tests.attach.terminal_settings"
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "You\nMy train leaves at nine.\n" in done.stdout
    assert "Assistant\n" in done.stdout
    assert "\x1b" not in done.stdout
    assert list(Message.objects.filter(role="user").values_list("text", flat=True)) == [
        "My train leaves at nine.",
        "When is my train?",
    ]
    assert not Message.objects.exclude(status="complete").exists()


def test_a_pipe_that_is_refused_fails(phone: Conversation) -> None:
    done = attach("ana", "telegram", said="hello\n")
    assert done.returncode == 1
    assert "This conversation belongs to another surface" in done.stderr


def test_a_new_conversation_can_be_begun(user: Any) -> None:
    done = attach("ana", "Parcel", "--new", said="", settings="tests.attach.terminal_settings")
    assert (done.returncode, done.stdout) == (0, "Parcel · Web\n")
    assert Conversation.objects.get().title == "Parcel"


def test_a_reader_that_leaves_ends_it_quietly(trip: Conversation) -> None:
    for number in range(300):
        answered(trip, f"{number} " + "x" * 1000)
    shell = " ".join(command("ana", "Trip", "--read-only")) + " | head -n 2"
    done = subprocess.run(
        ["sh", "-c", shell], env=environment(), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert done.stdout.startswith("Trip · Web\n")
    assert done.stderr == ""


class Frames:
    """`--json` in a process, spoken to line by line."""

    def __init__(self, *arguments: str, **options: str) -> None:
        self.process = subprocess.Popen(
            command(*arguments, "--json"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(**options),
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send(self, **frame: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[dict[str, Any]], bool]) -> list[dict[str, Any]]:
        """The frames up to one that is wanted."""
        assert self.process.stdout
        frames: list[dict[str, Any]] = []
        while not frames or not wanted(frames[-1]):
            frames.append(json.loads(self.process.stdout.readline()))
        return frames

    def close(self) -> tuple[int, list[dict[str, Any]]]:
        out, err = self.process.communicate(timeout=SECONDS)
        assert err == ""
        return self.process.returncode, [json.loads(line) for line in out.splitlines()]


def is_(kind: str) -> Callable[[dict[str, Any]], bool]:
    return lambda frame: frame.get("type") == kind


def test_json_is_the_protocol(trip: Conversation, script: type[ScriptedAgent]) -> None:
    say(trip, "hello")
    with Frames("ana", "Trip") as frames:
        [replay] = frames.until(lambda frame: bool(frame.get("last")))
        assert (replay["mode"], [event["seq"] for event in replay["events"]]) == ("full", [1, 2, 3])
        frames.send(type="message.send", client_id="c1", text="again")
        frames.send(type="message.send", client_id="c1", text="again")
        frames.until(lambda frame: frame["type"] == "ack" and frame["duplicate"])
        frames.send(type="message.send", client_id="c1", text="other")
        assert frames.until(is_("nack"))[-1]["code"] == "conflict"
        frames.send(type="ping", n=5)
        assert frames.until(is_("pong"))[-1] == {"type": "pong", "n": 5}
        frames.send(nonsense=True)
        assert frames.until(is_("error"))[-1]["code"] == "malformed"
        with answering():
            pass
        code, rest = frames.close()
    assert code == 0
    assert rest[-1]["event"]["type"] == "run.completed"
    assert not [frame for frame in rest if frame["type"] == "pong"]


def test_json_that_only_reads_refuses_to_write(trip: Conversation) -> None:
    with Frames("ana", "Trip", "--read-only") as frames:
        frames.until(lambda frame: bool(frame.get("last")))
        frames.send(type="message.send", client_id="c1", text="no")
        assert frames.until(is_("error"))[-1]["code"] == "read_only"
        frames.send(type="ping", n=1)
        frames.until(is_("pong"))
        answered(trip, "news")
        assert frames.until(is_("event"))[-1]["event"]["data"]["text"] == "news"
        frames.process.send_signal(signal.SIGINT)
        assert frames.close() == (0, [])
    assert not Message.objects.filter(text="no").exists()


def resident(pid: int) -> int:
    """Memory of a process, in KiB."""
    return int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0])


def steady(pid: int) -> int:
    """The same, once it has been the same for three seconds: the program has started, and waits."""
    looks = [resident(pid)]
    while len(looks) < 6 or len(set(looks[-6:])) > 1:
        assert len(looks) < 120
        time.sleep(0.5)
        looks.append(resident(pid))
    return looks[-1]


def test_a_program_that_does_not_read_costs_no_memory(trip: Conversation) -> None:
    for number in range(100):
        answered(trip, f"{number} " + "é" * 30_000)
    with Frames("ana", "Trip") as frames:
        before = steady(frames.process.pid)
        for number in range(100):
            answered(trip, f"{number} " + "é" * 30_000)
        assert steady(frames.process.pid) < before + 4_000
        replay = frames.until(lambda frame: bool(frame.get("last")))
        seen = [event["seq"] for frame in replay for event in frame.get("events", ())]
        while seen[-1] < 201:
            seen.append(frames.until(is_("event"))[-1]["event"]["seq"])
        assert seen == list(range(1, 202))
