"""Real processes race for seqs and for a singleton: the log stays gapless, the singleton one row."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from django.db import connection

from crossmemory import log
from crossmemory.models import Conversation, Event, Message, Owner, Run

pytestmark = pytest.mark.django_db(transaction=True)

WRITER = """
import sys
import django
django.setup()
from django.contrib.auth import get_user_model
from crossmemory import log
from crossmemory.events import Actor
from crossmemory.log import NewMessage, QueueRun
from crossmemory.models import Conversation, Owner
key, name = sys.argv[1:]
conversation = Conversation.objects.get(pk=key)
owner = Owner(conversation.user_id)
print(log.get_or_create_singleton(owner, "telegram", "[Telegram]").pk)
for index in range(25):
    message = NewMessage("user", Actor("user", "1"), f"{name} {index}", client_id=f"{name}-{index}")
    log.append_message(conversation, message, QueueRun("default"))
"""


def environment() -> dict[str, str]:
    """What leads another process to this test's database."""
    place = {name: connection.settings_dict[name] for name in ("NAME", "HOST", "USER", "PORT")}
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.support.other_process",
        "TEST_SETTINGS": os.environ["DJANGO_SETTINGS_MODULE"],
        "TEST_DATABASE": json.dumps({name: str(value) for name, value in place.items()}),
    }


def test_processes_race_for_seqs_and_for_the_singleton(user: Any) -> None:
    conversation = log.create(Owner.of(user), "web", "Trip")
    command = [sys.executable, "-c", WRITER, str(conversation.pk)]
    processes = [
        subprocess.Popen([*command, f"p{number}"], env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for number in range(4)
    ]
    ended = [process.communicate(timeout=60) for process in processes]

    assert all(process.returncode == 0 for process in processes), ended
    assert len({out.split()[0] for out, _ in ended}) == 1
    assert Conversation.objects.filter(singleton=True).count() == 1
    conversation.refresh_from_db()
    seqs = list(Event.objects.filter(conversation=conversation).order_by("seq").values_list("seq", flat=True))
    assert seqs == list(range(1, conversation.head + 1))
    assert Run.objects.filter(conversation=conversation).count() == 1
    assert Message.objects.filter(conversation=conversation).count() == 100
    in_order = list(Message.objects.filter(conversation=conversation).order_by("pk").values_list("seq", flat=True))
    assert in_order == sorted(in_order)
