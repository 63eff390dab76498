"""In the bot's process of a kill test: `kill -9` at a step, the first time that it comes to it (KILL_AT).

Leases are short here, so that a hundred restarts take minutes. They are the same leases.
"""

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from django.apps import AppConfig

if TYPE_CHECKING:
    from crossmemory.memory import Context

#: on the way of a message from the platform's queue to the phone
STEPS = (
    "received",  # out of Telegram's queue, not stored
    "stored",  # in the inbox, not confirmed
    "acknowledged",  # Telegram has heard that it is stored
    "heard",  # in the log, with its queued run
    "claimed",  # a runner has the run
    "streaming",  # the agent has said some of it
    "answered",  # the reply and its pieces are stored
    "sending",  # a sender has the piece
    "sent",  # Telegram has it, and nobody knows
    "recorded",  # the ledger says so
)


def die(step: str) -> None:
    if os.environ.get("KILL_AT") == step:
        os.kill(os.getpid(), signal.SIGKILL)


async def reply(context: "Context") -> AsyncIterator[str]:
    """Names what it answers, word by word."""
    for number, word in enumerate(["Answer to", *(message.text for message in context.asked)]):
        if number == 1:
            await asyncio.sleep(1.2)  # a preview shows the beginning
            die("streaming")
        yield f"{word} "


class Killing(AppConfig):
    name = "tests.telegram"
    label = "killing"

    def ready(self) -> None:
        from crossmemory import dispatch, outbox, turns
        from crossmemory.intake import worker
        from crossmemory.surfaces.telegram import TelegramSurface, holding, place, polling

        for module in (place, holding):
            module.LEASE_SECONDS, module.RENEW_SECONDS = 2.0, 0.5
        outbox.LEASE_SECONDS = 6.0

        around(place.Place, "store", before="received", after="stored", when=lambda _self, batch, *_: bool(batch))
        around(worker, "handle_or_retry", after="heard")
        around(dispatch, "settle", before="sent", after="recorded")
        around_async(turns, "aclaim", after="claimed")
        around_async(turns, "acomplete", after="answered")
        around_async(TelegramSurface, "deliver", before="sending")

        ask = polling.Polling._ask

        async def ask_and_confirm(self: Any, bot: Any) -> Any:
            if self._confirm:  # this very request says what is stored
                threading.Timer(0.3, die, ["acknowledged"]).start()
            return await ask(self, bot)

        polling.Polling._ask = ask_and_confirm  # type: ignore[method-assign]


def around(
    place: Any, name: str, before: str = "", after: str = "", when: Callable[..., bool] = lambda *_: True
) -> None:
    function = getattr(place, name)

    def watched(*args: Any, **kwargs: Any) -> Any:
        counts = when(*args)
        if counts:
            die(before)
        result = function(*args, **kwargs)
        if counts:
            die(after)
        return result

    setattr(place, name, watched)


def around_async(place: Any, name: str, before: str = "", after: str = "") -> None:
    function = getattr(place, name)

    async def watched(*args: Any, **kwargs: Any) -> Any:
        die(before)
        result = await function(*args, **kwargs)
        if result is not None:
            die(after)
        return result

    setattr(place, name, watched)
