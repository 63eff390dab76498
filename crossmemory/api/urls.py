"""Addresses of the REST feed. Ids are plain texts here, so that what is no id is refused as any unknown one."""

from django.urls import path

from crossmemory.api.accounts import AccountCode, AccountConfirm, AccountDetail, AccountList
from crossmemory.api.attachments import AttachmentDetail, AttachmentList
from crossmemory.api.context import ContextPreview, RunDetail
from crossmemory.api.conversations import Again, Approval, ConversationDetail, ConversationList, Read, Stop
from crossmemory.api.events import EventDetail, event_list
from crossmemory.api.memory import ConversationMemory
from crossmemory.api.messages import MessageDetail, MessageList
from crossmemory.api.search import Search
from crossmemory.api.stream import event_stream

app_name = "crossmemory"

urlpatterns = [
    path("conversations/", ConversationList.as_view(), name="conversation-list"),
    path("conversations/<str:uid>/", ConversationDetail.as_view(), name="conversation-detail"),
    path("conversations/<str:uid>/messages/", MessageList.as_view(), name="message-list"),
    path("conversations/<str:uid>/messages/<str:message>/", MessageDetail.as_view(), name="message-detail"),
    path("conversations/<str:uid>/memory/", ConversationMemory.as_view(), name="conversation-memory"),
    path("conversations/<str:uid>/attachments/", AttachmentList.as_view(), name="attachment-list"),
    path("attachments/<str:uid>/", AttachmentDetail.as_view(), name="attachment-detail"),
    path("conversations/<str:uid>/events/", event_list, name="event-list"),
    path("conversations/<str:uid>/events/stream/", event_stream, name="event-stream"),
    path("conversations/<str:uid>/events/<str:seq>/", EventDetail.as_view(), name="event-detail"),
    path("conversations/<str:uid>/stop/", Stop.as_view(), name="stop"),
    path("conversations/<str:uid>/again/", Again.as_view(), name="again"),
    path("conversations/<str:uid>/approvals/<str:tool_call>/", Approval.as_view(), name="approval"),
    path("conversations/<str:uid>/read/", Read.as_view(), name="read"),
    path("search/", Search.as_view(), name="search"),
    path("context/", ContextPreview.as_view(), name="context"),
    path("runs/<str:uid>/", RunDetail.as_view(), name="run-detail"),
    path("accounts/", AccountList.as_view(), name="account-list"),
    path("accounts/codes/", AccountCode.as_view(), name="account-code"),
    path("accounts/<str:uid>/", AccountDetail.as_view(), name="account-detail"),
    path("accounts/<str:uid>/confirm/", AccountConfirm.as_view(), name="account-confirm"),
]
