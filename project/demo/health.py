"""Are the demo's two processes ready for people?"""

import re
import urllib.error
import urllib.request
from collections.abc import Callable

from django.db.models import QuerySet
from django.db.models.functions import Now

from crossmemory.models import Poller
from crossmemory.surfaces import surfaces
from project.demo.people import TELEGRAM

ANSWER_SECONDS = 5


def server_answers(port: int) -> bool:
    """Does the site serve its sign-in page?"""
    # Never through a proxy of the environment: this is our own machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"http://127.0.0.1:{port}/accounts/login/", timeout=ANSWER_SECONDS) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def bot_polls() -> Callable[[], bool]:
    """A question to ask from now on: has a process taken the bot's place in the queue since, without trouble?"""
    before = _place().values_list("attempt", flat=True).first() or 0

    def ready() -> bool:
        found = _place().filter(attempt__gt=before, lease_until__gt=Now()).values_list("state", "detail").first()
        # The first call waits up to 25 s for updates and is no success until then: no trouble told is what there is.
        return found is not None and (found[0] == Poller.State.OK or re.fullmatch(r"@\w+|", found[1]) is not None)

    return ready


def bot_trouble() -> str:
    """What the bot says about its connection; empty while it says nothing."""
    found = _place().values_list("detail", flat=True).first() or ""
    return found if " " in found else ""


def _place() -> QuerySet[Poller]:
    return Poller.objects.filter(surface=TELEGRAM, account=surfaces[TELEGRAM].account)
