from django.urls import path, re_path

from . import api, doors, files, phone

app_name = "sandbox"
urlpatterns = [
    re_path(r"^telegram/bot(?P<token>[^/]+)/(?P<method>[^/]+)/?$", api.call, name="api"),
    re_path(r"^telegram/file/bot(?P<token>[^/]+)/(?P<path>[^/]+/[^/]+)$", files.download, name="file"),
    path("telegram/say", doors.say, name="say"),
    path("telegram/send", doors.send, name="send"),
    path("telegram/sent/<str:file_id>", files.shown, name="sent"),
    path("telegram/edit", doors.edit, name="edit"),
    path("telegram/press", doors.press, name="press"),
    path("telegram/block", doors.block, name="block"),
    path("telegram/update", doors.update, name="update"),
    path("telegram/outbox", doors.outbox, name="outbox"),
    path("telegram/chat", doors.chat, name="chat"),
    path("telegram/fault", doors.fault, name="fault"),
    path("telegram/faults", doors.faults, name="faults"),
    path("telegram/phone/<int:user_id>/", phone.phone, name="phone"),
    path("telegram/open/<str:username>", phone.open_link, name="open"),
]
