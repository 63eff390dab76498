"""The wheel in a fresh `startproject`, with the README's six lines and a function as the agent."""

import json
import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

pytestmark = [pytest.mark.processes, pytest.mark.one_database]


def run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True, env=clean_env())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_env() -> dict[str, str]:
    return {
        key: value
        for key, value in os.environ.items()
        if key not in ("DJANGO_SETTINGS_MODULE", "DATABASE_URL", "PYTHONPATH")
    }


def readme() -> dict[str, str]:
    """The README's blocks of the section for existing sites, by what they hold."""
    section = (ROOT / "README.md").read_text().partition("## Into an existing site")[2].partition("### Telegram")[0]
    found = re.findall(r"```(python|django)\n(.*?)```", section, re.DOTALL)
    return {
        "settings": next(text for _, text in found if "INSTALLED_APPS" in text),
        "urls": next(text for _, text in found if "urlpatterns" in text),
        "asgi": next(text for _, text in found if "with_crossmemory" in text),
        "template": next(text for kind, text in found if kind == "django"),
        "agent": next(text for _, text in found if "def reply" in text),
    }


def test_the_readme_promises_six_lines() -> None:
    lines = [readme()[name].strip().splitlines() for name in ("settings", "urls", "asgi", "template")]
    assert sum(map(len, lines)) == 6


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A running fresh site: its address and folder."""
    folder = tmp_path_factory.mktemp("site")
    uv = Path(sys.executable).with_name("uv")
    run(uv, "build", "--wheel", "--out-dir", folder / "dist", ROOT, cwd=folder)
    [wheel] = (folder / "dist").glob("*.whl")
    run(uv, "venv", "--python", sys.executable, folder / "venv", cwd=folder)
    python = folder / "venv/bin/python"
    run(uv, "pip", "install", "--python", python, f"{wheel}[daphne]", cwd=folder)
    run(folder / "venv/bin/django-admin", "startproject", "mysite", folder, cwd=folder)

    blocks = readme()
    package = folder / "mysite"
    (package / "assistant.py").write_text(blocks["agent"])
    with (package / "settings.py").open("a") as settings:
        settings.write(blocks["settings"])
    urls = (
        (package / "urls.py")
        .read_text()
        .replace("from django.urls import path", "from django.urls import include, path")
    )
    page = (
        "\nfrom django.http import HttpResponse\nfrom django.template import engines\n"
        "def page(request):\n"
        f"    template = engines['django'].from_string('''{blocks['template']}''')\n"
        "    return HttpResponse(template.render({}, request))\n"
        "urlpatterns += [path('chat/', page)]\n"
    )
    (package / "urls.py").write_text(urls + "\n" + blocks["urls"] + page)
    asgi = (package / "asgi.py").read_text()
    imports, call = blocks["asgi"].strip().splitlines()
    (package / "asgi.py").write_text(asgi.replace("application = get_asgi_application()", f"{imports}\n{call}"))
    run(python, "manage.py", "migrate", cwd=folder)
    run(
        python, "manage.py", "shell", "-c",
        "from django.contrib.auth.models import User; User.objects.create_superuser('ana', password='demo')",
        cwd=folder,
    )  # fmt: skip
    run(python, "manage.py", "check", cwd=folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [folder / "venv/bin/daphne", "-p", str(port), "mysite.asgi:application"], cwd=folder, env=clean_env()
    )
    try:
        yield f"http://127.0.0.1:{port}", folder
    finally:
        server.terminate()
        server.wait(10)


def opened(opener: Any, url: str, body: dict[str, Any] | None = None, token: str = "") -> tuple[int, str]:
    request = urllib.request.Request(
        url, headers={"X-CSRFToken": token, "Referer": url, "Content-Type": "application/json"}
    )
    if body is not None:
        request.data = json.dumps(body).encode()
    with opener.open(request, timeout=10) as answer:
        return answer.status, answer.read().decode()


def test_a_fresh_site_answers_with_its_own_function(site: tuple[str, Path]) -> None:
    address, _folder = site
    jar = urllib.request.HTTPCookieProcessor()
    opener = urllib.request.build_opener(jar)
    until = time.monotonic() + 30
    while True:
        try:
            opened(opener, f"{address}/admin/login/")
            break
        except OSError:
            assert time.monotonic() < until, "the fresh site does not start"
            time.sleep(0.2)

    def csrf() -> str:
        return next(str(cookie.value) for cookie in jar.cookiejar if cookie.name == "csrftoken")

    form = f"username=ana&password=demo&next=/chat/&csrfmiddlewaretoken={csrf()}".encode()
    request = urllib.request.Request(f"{address}/admin/login/", form, {"Referer": f"{address}/admin/login/"})
    page = opener.open(request, timeout=10).read().decode()
    assert "<crossmemory-chat" in page

    api = f"{address}/api/crossmemory/conversations/"
    status, body = opened(opener, api, {}, csrf())
    assert status == 201
    messages = f"{api}{json.loads(body)['id']}/messages/"
    status, _ = opened(opener, messages, {"client_id": "c1", "text": "hello"}, csrf())
    assert status == 201
    until = time.monotonic() + 10
    texts: list[str] = []
    while len(texts) < 2:
        assert time.monotonic() < until, texts
        texts = [m["text"] for m in json.loads(opened(opener, messages)[1])["messages"] if m["status"] == "complete"]
        time.sleep(0.1)
    assert texts == ["hello", "You asked: hello. I see 1 messages."]
