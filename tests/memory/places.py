"""What tests of memory say, and where: short words for conversations and what is said in them."""

from typing import Any

from crossmemory import log, memory
from crossmemory.events import Actor
from crossmemory.log import NewMessage
from crossmemory.models import Conversation, Message, Owner, Run


def texts(messages: Any) -> list[str]:
    return [message.text for message in messages]


def web(user: Any, **options: Any) -> Conversation:
    return log.create(Owner.of(user), "web", **options)


def ask(place: Conversation, text: str) -> int:
    return log.append_message(place, NewMessage("user", Actor("user", str(place.user_id)), text)).seq


def answer(place: Conversation, turn: int, text: str) -> int:
    return log.append_message(place, NewMessage("assistant", Actor("agent", "default"), text, turn=turn)).seq


def build(place: Conversation, text: str, **options: Any) -> memory.Context:
    """Asks, builds what the assistant sees, and remembers where the windows began, as a run does."""
    seq = ask(place, text)
    context = memory.build_context(place, trigger=seq, **options)
    Run.objects.create(
        conversation=place,
        agent="default",
        trigger=seq,
        status=Run.Status.COMPLETED,
        window_start=context.window_start,
        recent_start=context.recent_start,
    )
    return context


def reasons(context: memory.Context) -> dict[str, str]:
    """Text of a left-out message: why."""
    rows = dict(Message.objects.values_list("pk", "text"))
    return {rows[left.id]: left.reason for left in context.manifest.left_out}


def setting(settings: Any, **values: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, **values}
