"""An update that is being handled, and what is known about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crossmemory import outbox
from crossmemory.events import Actor
from crossmemory.models import Conversation, InboundUpdate, SurfaceLink
from crossmemory.surfaces import Destination, Inbound, Surface

Buttons = Sequence[Sequence[tuple[str, str]]]
"""Rows of buttons: what stands on each, and the data that pressing it sends."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One update of a message: several for an album."""

    row: InboundUpdate
    inbound: Inbound
    parts: list[Any] | None = None  # its parts, where they hold more than the update says

    @property
    def said(self) -> Inbound:
        return self.inbound if self.parts is None else replace(self.inbound, parts=self.parts)


@dataclass(slots=True)
class Case:
    """What is told to the person is collected, and goes out as one notice."""

    row: InboundUpdate
    surface: Surface
    inbound: Inbound
    link: SurfaceLink | None
    pieces: Sequence[Piece] = ()
    conversation: Conversation | None = None  # whose notices these are, once it is known
    _notes: list[str] = field(default_factory=list)
    _buttons: list[list[dict[str, str]]] = field(default_factory=list)

    @property
    def destination(self) -> dict[str, str]:
        """Where the answer goes: the place that asked."""
        inbound = self.inbound
        return Destination(self.row.surface, self.row.account, inbound.chat, inbound.topic).as_json()

    @property
    def person(self) -> Actor:
        assert self.link is not None
        return Actor("user", str(self.link.user_id))

    def tell(self, text: str, buttons: Buttons = ()) -> None:
        """Answer with a short notice, which is nobody's history."""
        self._notes.append(text)
        self._buttons += [[{"text": label, "data": data} for label, data in row] for row in buttons]

    def send(self) -> None:
        """Put what was told into the outbox, in the transaction of what it is about."""
        if not self._notes:
            return
        payload: dict[str, Any] = {"text": "\n\n".join(self._notes)}
        if self._buttons:
            payload["buttons"] = self._buttons
        outbox.write(self.destination, [payload], inbound=self.row, conversation=self.conversation)
