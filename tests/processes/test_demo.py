"""`manage.py demo`: a server and a bot as real processes, started, killed and stopped."""

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.processes.running import ROOT, STAFF, Demo, alive, environment, free_port, until

pytestmark = [pytest.mark.processes, pytest.mark.one_database]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("demo")) as running:
        yield running


def test_it_says_where_everything_is(demo: Demo) -> None:
    for address in ("/demo/", "/admin/", "/sandbox/telegram/phone/5001/"):
        assert f"{demo.site}{address}" in demo.said
    assert "ana / demo" in demo.said
    assert "staff / demo" in demo.said


def test_what_is_said_on_the_web_is_known_on_the_phone_and_back(demo: Demo) -> None:
    with demo.sign_in() as web:
        titles = [row["title"] for row in web.get("/api/crossmemory/conversations/").json()["results"]]
        assert {"Trip to Chios", "[Telegram]"} <= set(titles)
        chat = web.post("/api/crossmemory/conversations/", json={"title": "Parcel"}).json()["id"]
        messages = f"/api/crossmemory/conversations/{chat}/messages/"
        body = {"client_id": str(uuid.uuid4()), "text": "The parcel shop closes at 18:40."}
        first, again = web.post(messages, json=body), web.post(messages, json=body)
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json()["seq"] == again.json()["seq"]
        until(lambda: any(m["role"] == "assistant" for m in web.get(messages).json()["messages"]))
        assert "18:40" in demo.reply(demo.say("When does the parcel shop close?"))

        demo.reply(demo.say("The spare key hangs behind the blue door."))
        question = web.post(messages, json={"client_id": str(uuid.uuid4()), "text": "Where is the spare key?"}).json()

        def answered() -> str | None:
            rows = web.get(messages).json()["messages"]
            done = [r for r in rows if r["seq"] > question["seq"] and r["role"] == "assistant"]
            return next((r["text"] for r in done if r["status"] == "complete"), None)

        assert "behind the blue door" in until(answered)


def test_events_can_be_followed_by_long_poll(demo: Demo) -> None:
    with demo.sign_in() as web:
        chat = web.post("/api/crossmemory/conversations/", json={}).json()["id"]
        events = f"/api/crossmemory/conversations/{chat}/events/"
        cursor = web.get(events).json()["cursor"]
        web.post(f"/api/crossmemory/conversations/{chat}/messages/", json={"client_id": "a", "text": "hello"})
        found = web.get(events, params={"cursor": cursor, "wait": 10}).json()
        assert found["events"][0]["data"]["text"] == "hello"


def test_the_page_has_a_strict_policy_and_needs_a_sign_in(demo: Demo) -> None:
    assert httpx.get(f"{demo.site}/").headers["Location"] == "/demo/"
    assert httpx.get(f"{demo.site}/demo/").headers["Location"] == "/accounts/login/?next=/demo/"
    with demo.sign_in() as web:
        page = web.get("/demo/")
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    # Every script has an address or is data; nothing is styled or handled in the page itself.
    assert all("src=" in tag or "application/json" in tag for tag in re.findall(r"<script[^>]*>", page.text))
    assert not re.search(r"<style|\sstyle=|\son\w+=", page.text)


def test_staff_reach_the_admin_and_ana_does_not(demo: Demo) -> None:
    with demo.sign_in("staff") as staff:
        assert staff.get("/admin/").status_code == 200
        assert "/admin/" in staff.get("/demo/").text
    with demo.sign_in() as ana:
        assert ana.get("/admin/", follow_redirects=False).status_code == 302
        assert "/admin/" not in ana.get("/demo/").text


def test_the_assistant_speaks_the_language_of_the_page(demo: Demo) -> None:
    with demo.sign_in("staff") as staff:
        staff.post("/i18n/setlang/", data={"language": "es", "next": "/demo/"}, headers={"Referer": demo.site})
        assert "Cerrar sesión" in staff.get("/demo/").text
        assert "language model" not in demo.reply(demo.say("¿Dónde están mis llaves?", STAFF), chat_id=STAFF)
        staff.post("/i18n/setlang/", data={"language": "en", "next": "/demo/"}, headers={"Referer": demo.site})
        assert "Sign out" in staff.get("/demo/").text
        assert "language model" in demo.reply(demo.say("Where are my keys?", STAFF), chat_id=STAFF)


def test_a_bot_killed_in_mid_answer_comes_back_and_answers_once(demo: Demo) -> None:
    with demo.sign_in() as web:
        before = web.get("/demo/bot/").json()["pid"]
        demo.reply(demo.say("A list: " + ", ".join(f"thing {number}" for number in range(40))))
        asked = demo.say("What do you remember?")
        chat = {"chat_id": 5001, "since": 2**40}
        until(lambda: web.get("/sandbox/telegram/chat", params=chat).json()["action"])
        assert web.post("/demo/kill-bot/").json() == {"killed": before}
        after = until(lambda: (web.get("/demo/bot/").json()["pid"] or before) != before and demo.pid("bot"))
        assert alive(after)
        demo.reply(asked, 90)
        # When a later message has its reply, everything before it has been dealt with.
        marker = demo.say("Are you there?")
        demo.reply(marker, 90)
        assert len(demo.outbox(asked)) == 2
        assert len(demo.outbox(marker)) == 1
    assert "The bot ended (killed by SIGKILL)" in demo.said
    assert "The bot runs again" in demo.said


def test_the_kill_door_wants_a_person_and_a_post(demo: Demo) -> None:
    assert httpx.post(f"{demo.site}/demo/kill-bot/").status_code in (302, 403)
    with demo.sign_in() as web:
        assert web.get("/demo/kill-bot/").status_code == 405
        del web.headers["X-CSRFToken"]
        assert web.post("/demo/kill-bot/").status_code == 403


def test_a_server_that_dies_comes_back(demo: Demo) -> None:
    pid = demo.pid("server")
    assert pid
    os.kill(pid, signal.SIGKILL)
    until(lambda: demo.pid("server") not in (None, pid), 30)

    def serves() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{demo.site}/accounts/login/").status_code == 200
        return False

    until(serves, 30)
    assert demo.reply(demo.say("Does the bot find the server again?"), 90)


def test_a_second_demo_on_the_same_port_is_told_to_move(demo: Demo, tmp_path: Path) -> None:
    ended = run(environment(tmp_path, demo.port))
    assert ended.returncode == 1
    assert f"Port {demo.port} cannot be used" in ended.stderr
    assert "PORT=" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_second_demo_with_the_same_data_is_refused(demo: Demo) -> None:
    ended = run(environment(demo.directory, free_port()))
    assert ended.returncode == 1
    assert "The demo runs already" in ended.stderr
    assert demo.process.poll() is None


def test_a_port_that_is_none_is_named(tmp_path: Path) -> None:
    ended = run(environment(tmp_path, 1) | {"PORT": "eighty"})
    assert ended.returncode == 1
    assert "PORT='eighty' is no port" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_both_in_order_and_keeps_what_was_said(tmp_path: Path, number: signal.Signals) -> None:
    with Demo(tmp_path) as first:
        first.reply(first.say("The bicycle has the lock 7391."))
        assert first.stop(number) == 0
        assert not any(alive(pid) for pid in first.left)
    assert "Stopped." in first.said
    assert "stopped." in first.log("bot")
    assert not list(tmp_path.glob("*.pid"))
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", first.port))
    if number == signal.SIGINT:
        return
    with Demo(tmp_path) as second:
        assert "Kept what earlier runs left" in second.said
        assert "7391" in second.reply(second.say("Which lock has the bicycle?"))
        second.stop()
    with Demo(tmp_path, "--fresh") as third:
        assert "with a little history" in third.said
        assert "7391" not in third.reply(third.say("Which lock has the bicycle?"))


def test_a_real_token_goes_to_the_real_telegram(tmp_path: Path) -> None:
    script = (
        "from django.conf import settings as s; from project.demo.people import real_telegram;"
        "o = s.CROSSMEMORY['SURFACES']['telegram']['OPTIONS']; print(o['api_url'], o['token'][:3], real_telegram())"
    )
    command = [sys.executable, "manage.py", "shell", "-v0", "-c", script]
    real = environment(tmp_path, 8000, TELEGRAM_BOT_TOKEN="123:abc")
    printed = subprocess.run(command, cwd=ROOT, env=real, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["https://api.telegram.org", "123", "True"]

    with_page = (
        "from django.core.management import call_command as c; c('migrate', verbosity=0);"
        "from project.demo import history, people; print(history.seed(people.PEOPLE));"
        "from django.contrib.auth.models import User; from django.test import Client; w = Client();"
        "w.force_login(User.objects.get(username='ana')); p = w.get('/demo/', headers={'host': 'localhost'});"
        "print(p.status_code, 'Your phone is your own' in p.text, '/sandbox/telegram/phone' in p.text)"
    )
    command_with_page = [*command[:-1], with_page]
    printed = subprocess.run(command_with_page, cwd=ROOT, env=real, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["True", "200", "True", "False"]

    ours = environment(tmp_path, 8123)
    printed = subprocess.run(command, cwd=ROOT, env=ours, capture_output=True, text=True, check=True).stdout
    assert printed.split() == ["http://127.0.0.1:8123/sandbox/telegram", "700", "False"]


def run(env: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "manage.py", "demo"]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
