"""Files over REST: uploaded, read by their person only, and never a page of the site."""

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from crossmemory import attachments
from crossmemory.models import Attachment, Conversation
from tests.api.conftest import ROOT, Api
from tests.test_attachments import PNG

pytestmark = pytest.mark.django_db(transaction=True)


def upload(api: Api, chat: Conversation, content: bytes = PNG, name: str = "harbour.png") -> Any:
    form = {"file": SimpleUploadedFile(name, content, "image/png")}
    return api.client.post(f"{ROOT}conversations/{chat.uid}/attachments/", form)


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content) if response.streaming else response.content


def test_a_file_is_uploaded_sent_and_read(api: Api, chat: Conversation) -> None:
    answer = upload(api, chat)
    assert answer.status_code == 201
    part = answer.json()
    assert (part["type"], part["width"], part["bytes"]) == ("photo", 32, len(PNG))
    sent = api(
        "post",
        f"conversations/{chat.uid}/messages/",
        {"client_id": "c1", "text": "Look!", "parts": [{"attachment": part["attachment"]}]},
    )
    assert sent.status_code == 201
    said = api("get", f"conversations/{chat.uid}/messages/").json()["messages"][0]
    assert (said["text"], said["parts"][0]["attachment"]) == ("[photo harbour.png] Look!", part["attachment"])
    shown = api("get", part["url"])
    assert (shown.status_code, body(shown)) == (200, PNG)
    assert shown["Content-Type"] == "image/png"
    assert shown["Content-Disposition"] == 'inline; filename="harbour.png"'
    assert shown["Cache-Control"] == "private, no-cache"


def test_an_edited_caption_keeps_the_word_for_the_file(api: Api, chat: Conversation) -> None:
    part = upload(api, chat).json()
    parts = [{"attachment": part["attachment"]}]
    messages = f"conversations/{chat.uid}/messages/"
    uid = api("post", messages, {"client_id": "c1", "text": "Lok!", "parts": parts}).json()["id"]
    assert api("patch", f"{messages}{uid}/", {"text": "Look!"}).json()["text"] == "[photo harbour.png] Look!"


def test_nobody_else_reads_writes_or_removes_it(api: Api, stranger: Api, chat: Conversation) -> None:
    part = upload(api, chat).json()
    assert stranger("get", part["url"]).status_code == 404
    assert stranger("delete", part["url"]).status_code == 404
    assert upload(stranger, chat).status_code == 404
    stranger.client.logout()
    assert stranger("get", part["url"]).status_code == 401
    assert Attachment.objects.count() == 1


def test_what_could_be_a_page_is_a_download(api: Api, chat: Conversation) -> None:
    shown = api("get", upload(api, chat, b"<script>alert(1)</script>", "harbour.png").json()["url"])
    assert shown["Content-Type"] == "application/octet-stream"
    assert shown["Content-Disposition"].startswith("attachment")
    assert (shown["X-Content-Type-Options"], shown["Content-Security-Policy"]) == (
        "nosniff",
        "default-src 'none'; sandbox",
    )


@pytest.mark.parametrize(
    ("asked", "status", "told", "given"),
    [
        ("bytes=0-3", 206, "bytes 0-3/{size}", PNG[:4]),
        ("bytes=4-", 206, "bytes 4-{last}/{size}", PNG[4:]),
        ("bytes=-5", 206, "bytes {from5}-{last}/{size}", PNG[-5:]),
        ("bytes=0-99999999999", 200, None, PNG),
        ("bytes=0-1,4-5", 200, None, PNG),
        ("bytes=9-2", 200, None, PNG),
        ("lines=1-2", 200, None, PNG),
        ("bytes=-", 200, None, PNG),
        ("bytes=5000-", 416, "bytes */{size}", b""),
    ],
)
def test_a_player_gets_the_range_it_asks_for(
    api: Api, chat: Conversation, asked: str, status: int, told: str | None, given: bytes
) -> None:
    url = upload(api, chat).json()["url"]
    answer = api("get", url, Range=asked)
    size = len(PNG)
    assert (answer.status_code, body(answer)) == (status, given)
    assert answer.headers.get("Content-Range") == (told and told.format(size=size, last=size - 1, from5=size - 5))


def test_a_browser_that_has_it_gets_it_once(api: Api, chat: Conversation) -> None:
    url = upload(api, chat).json()["url"]
    answer = api("get", url, **{"If-None-Match": api("get", url)["ETag"]})
    assert (answer.status_code, answer.content) == (304, b"")


def test_a_file_that_the_storage_lost_is_a_404(api: Api, chat: Conversation) -> None:
    url = upload(api, chat).json()["url"]
    row = Attachment.objects.get()
    row.file.storage.delete(row.file.name)
    assert api("get", url).status_code == 404


def test_a_file_that_was_not_sent_can_be_removed(api: Api, chat: Conversation) -> None:
    part = upload(api, chat).json()
    assert api("delete", part["url"]).status_code == 204
    part = upload(api, chat).json()
    parts = [{"attachment": part["attachment"]}]
    api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c1", "text": "", "parts": parts})
    refused = api("delete", part["url"])
    assert (refused.status_code, refused.json()["code"]) == (400, "attachment")


def test_refusals_have_a_code_and_a_line(api: Api, chat: Conversation, phone: Conversation, settings: Any) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "MAX_ATTACHMENT_BYTES": 1024}
    assert upload(api, chat, bytes(2000)).json()["code"] == "too_large"
    assert upload(api, chat, bytes(200_000)).status_code == 413  # not even read
    assert upload(api, chat, b"").json()["code"] == "empty"
    assert upload(api, phone).json()["code"] == "read_only_here"
    nothing = api.client.post(f"{ROOT}conversations/{chat.uid}/attachments/", {})
    assert (nothing.status_code, nothing.json()["code"]) == (400, "invalid")
    for parts, code in (("x", "invalid"), ([{}], "invalid"), ([{"attachment": "x"}], "attachment")):
        answer = api("post", f"conversations/{chat.uid}/messages/", {"client_id": "c", "text": "Hi", "parts": parts})
        assert (answer.status_code, answer.json()["code"]) == (400, code)


async def test_under_asgi_a_file_is_read_piece_by_piece(async_client: Any, user: Any, chat: Conversation) -> None:
    row = await attachments.akeep(chat, io.BytesIO(PNG * 2000), name="big.png")
    await async_client.aforce_login(user)
    answer = await async_client.get(f"{ROOT}attachments/{row.uid}/")
    assert answer.is_async
    pieces = [piece async for piece in answer.streaming_content]
    assert len(pieces) > 1
    assert b"".join(pieces) == PNG * 2000
