"""A little history, so that the demo does not begin with empty pages."""

from dataclasses import dataclass
from typing import Any

from crossmemory import log
from crossmemory.memory import record_turn
from crossmemory.models import DEFAULT_AGENT, Conversation, Owner
from project.demo.people import ANA, TELEGRAM, connect_phone, make_user, real_telegram
from project.sandbox import bots, chats
from project.sandbox.models import ChatMessage


@dataclass(frozen=True, slots=True)
class Said:
    """One turn: in a web chat of this title, or on the phone where there is none."""

    chat: str
    question: str
    answer: str
    shared: bool = True


HISTORY = (
    Said("Birthday present", "A kite for Nikos, the red one. It is a surprise.", "Noted: the red kite.", shared=False),
    Said(
        "Tax return",
        "The tax return is due on 15 June, and the tax office wants the original receipts.",
        "Noted: due on **15 June**, with the original receipts.",
    ),
    Said("", "The hotel on Chios is the Aegeas, door code 4471.", "Noted: Aegeas, door code 4471."),
    Said(
        "Trip to Chios",
        "My ferry to Chios leaves at 07:35 from gate E4. Please remember.",
        "Noted: ferry to Chios, **07:35**, gate **E4**.",
    ),
)


def tell(user: Any) -> bool:
    """Store the history of the demo's person; False when they have a history already."""
    owner = Owner.of(user, DEFAULT_AGENT)
    if Conversation.objects.filter(user_id=user.pk).exists():
        return False
    for number, said in enumerate(HISTORY, 1):
        if said.chat:
            conversation = log.create(owner, "web", said.chat, shared=said.shared)
            record_turn(user, "web", said.question, said.answer, conversation=conversation, client_id=f"demo:{number}")
            log.mark_read(conversation, Conversation.objects.values_list("head", flat=True).get(pk=conversation.pk))
        elif not real_telegram():
            record_turn(user, TELEGRAM, said.question, said.answer, client_id=f"demo:{number}")
            show_on_phone(said)
    return True


def show_on_phone(said: Said) -> None:
    """Put a turn that happened before the demo began onto the phone's page; the bot is told nothing."""
    _person, chat = chats.open_private(bots.configured(), ANA.telegram_id, ANA.name)
    chats.add(chat, ChatMessage.Direction.IN, sender_id=ANA.telegram_id, text=said.question)
    chats.add(chat, ChatMessage.Direction.OUT, text=said.answer)


def seed(people: Any) -> bool:
    """Make the demo's people with their phones and history; False when everything was there."""
    fresh = False
    for person in people:
        user = make_user(person)
        if not real_telegram():
            connect_phone(user, person)
        if person == ANA:
            fresh = tell(user)
    return fresh
