"""What is stored."""

from crossmemory.models.attachment import Attachment
from crossmemory.models.conversation import Conversation, new_epoch
from crossmemory.models.event import Event
from crossmemory.models.inbox import InboundUpdate, Poller
from crossmemory.models.link import LinkCode, Sharing, SurfaceLink
from crossmemory.models.message import Message, MessageChunk, MessageRevision
from crossmemory.models.outbox import Delivery
from crossmemory.models.owner import DEFAULT_AGENT, OwnedQuerySet, Owner
from crossmemory.models.pause import Pause
from crossmemory.models.preference import Preference, manner
from crossmemory.models.run import Run
from crossmemory.models.tool import ToolCall
from crossmemory.models.use import DailyUse

__all__ = [
    "DEFAULT_AGENT",
    "Attachment",
    "Conversation",
    "DailyUse",
    "Delivery",
    "Event",
    "InboundUpdate",
    "LinkCode",
    "Message",
    "MessageChunk",
    "MessageRevision",
    "OwnedQuerySet",
    "Owner",
    "Pause",
    "Poller",
    "Preference",
    "Run",
    "Sharing",
    "SurfaceLink",
    "ToolCall",
    "manner",
    "new_epoch",
]
