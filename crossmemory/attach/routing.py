"""URL patterns for sites with their own Channels routing; others use `crossmemory.asgi.with_crossmemory`."""

from django.urls import path

from crossmemory.attach.consumer import AttachConsumer
from crossmemory.attach.paths import SOCKET_PREFIX

websocket_urlpatterns = [
    path(f"{SOCKET_PREFIX}<uuid:conversation>/", AttachConsumer.as_asgi()),
]
