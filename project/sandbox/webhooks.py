"""Bringing updates to a bot's webhook, one after the other, again and again until the site answers 2xx.

https://core.telegram.org/bots/api#setwebhook. A thread of the process where something arrived; it ends when nothing
waits. Only this machine is ever called.
"""

import threading
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from django.db import connection, transaction
from django.utils import timezone

from .models import Bot, Update

LOCAL = frozenset({"127.0.0.1", "localhost", "::1"})
ANSWER_SECONDS = 10.0
PAUSES = (0.2, 0.5, 1.0, 2.0)  # seconds between tries; the last one over and over

_busy: set[int] = set()
_lock = threading.Lock()


def bring(bot_id: int) -> None:
    """After the commit, see that what waits is brought; from any thread."""
    transaction.on_commit(lambda: _begin(bot_id))


def _begin(bot_id: int) -> None:
    with _lock:
        if bot_id in _busy or not Bot.objects.filter(pk=bot_id).exclude(webhook_url="").exists():
            return
        _busy.add(bot_id)
    threading.Thread(target=_work, args=(bot_id,), name=f"sandbox-webhook-{bot_id}", daemon=True).start()


def _work(bot_id: int) -> None:
    failures = 0
    try:
        while True:
            with _lock:  # who comes later finds it either busy or gone
                bot = Bot.objects.filter(pk=bot_id).exclude(webhook_url="").first()
                update = bot.waiting().order_by("update_id", "id").first() if bot else None
                if bot is None or update is None:
                    _busy.discard(bot_id)
                    return
            if problem := _post(bot, update):
                Bot.objects.filter(pk=bot_id).update(webhook_error=problem[:255], webhook_error_at=timezone.now())
                time.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
                failures += 1
            else:
                Update.objects.filter(pk=update.pk).update(served=True, confirmed=True)
                failures = 0
    except Exception:
        with _lock:
            _busy.discard(bot_id)
        raise
    finally:
        connection.close()


def _post(bot: Bot, update: Update) -> str:
    """Hand one over; what went wrong, as getWebhookInfo words it."""
    if urlsplit(bot.webhook_url).hostname not in LOCAL:
        return "IP address is reserved: the sandbox calls this machine only"
    headers = {"Content-Type": "application/json"}
    if bot.webhook_secret:
        headers["X-Telegram-Bot-Api-Secret-Token"] = bot.webhook_secret
    request = urllib.request.Request(bot.webhook_url, update.payload.encode(), headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS):
            return ""
    except urllib.error.HTTPError as error:
        return f"Wrong response from the webhook: {error.code} {error.reason}"
    except OSError as error:
        return f"Connection failed: {error}"
