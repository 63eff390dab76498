"""The canonical log of each conversation, and its only writer.

Everything here that runs inside the caller's transaction says so; the rest commits by itself and then rings.
"""

from crossmemory.log.answers import complete, interrupt, new_answer, start, text_so_far, write
from crossmemory.log.conversations import (
    create,
    get_or_create_singleton,
    mark_read,
    open_afresh,
    open_afresh_everywhere,
    rename,
    set_reads,
    set_shared,
)
from crossmemory.log.counter import Pointers
from crossmemory.log.edit import edit
from crossmemory.log.entries import Entry, NewMessage, QueueRun, Stored
from crossmemory.log.redact import redact
from crossmemory.log.refuse import refuse
from crossmemory.log.steers import consume, promote
from crossmemory.log.steers import waiting as waiting_steers
from crossmemory.log.trim import trim
from crossmemory.log.writer import aappend_message, append, append_message

__all__ = [
    "Entry",
    "NewMessage",
    "Pointers",
    "QueueRun",
    "Stored",
    "aappend_message",
    "append",
    "append_message",
    "complete",
    "consume",
    "create",
    "edit",
    "get_or_create_singleton",
    "interrupt",
    "mark_read",
    "new_answer",
    "open_afresh",
    "open_afresh_everywhere",
    "promote",
    "redact",
    "refuse",
    "rename",
    "set_reads",
    "set_shared",
    "start",
    "text_so_far",
    "trim",
    "waiting_steers",
    "write",
]
