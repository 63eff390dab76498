"""Disconnecting an account, and what becomes of what was said there."""

from typing import Any, Literal

from crossmemory import erase, linking, turns
from crossmemory.events import Actor
from crossmemory.linking.links import find


def unlink(user: Any, link_uid: Any, history: Literal["keep", "remove"] = "keep") -> None:
    """End a link; cancel what was still to be sent, and the answer that is being written; `remove` erases the
    surface's conversation too.

    Raises linking.NoSuchLink.
    """
    answering = linking.existing_conversation(find(user, link_uid))
    conversation = linking.unlink(user, link_uid, history=history)
    if answering is not None:
        turns.request_stop(answering, Actor("user", str(user.pk)))
    if conversation is not None:
        erase.conversation(conversation)
