"""The admin: history to read, deliveries and updates to put right. Made for big tables; words need a permission."""

from crossmemory.admin.conversations import ConversationAdmin
from crossmemory.admin.files import AttachmentAdmin
from crossmemory.admin.history import EventAdmin, MessageAdmin, MessageChunkAdmin, MessageRevisionAdmin
from crossmemory.admin.incoming import InboundUpdateAdmin, PollerAdmin
from crossmemory.admin.outgoing import DeliveryAdmin
from crossmemory.admin.pauses import PauseAdmin
from crossmemory.admin.people import LinkCodeAdmin, PreferenceAdmin, SurfaceLinkAdmin
from crossmemory.admin.replies import RunAdmin
from crossmemory.admin.tools import ToolCallAdmin

__all__ = [
    "AttachmentAdmin",
    "ConversationAdmin",
    "DeliveryAdmin",
    "EventAdmin",
    "InboundUpdateAdmin",
    "LinkCodeAdmin",
    "MessageAdmin",
    "MessageChunkAdmin",
    "MessageRevisionAdmin",
    "PauseAdmin",
    "PollerAdmin",
    "PreferenceAdmin",
    "RunAdmin",
    "SurfaceLinkAdmin",
    "ToolCallAdmin",
]
