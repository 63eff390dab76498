"""Files in the admin: what they are for everybody, what is in them with the permission."""

import io
from typing import Any

import pytest

from crossmemory import attachments, log
from crossmemory.models import Attachment, Owner
from tests.admin.conftest import permissions, signed_in
from tests.test_attachments import PNG

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def file(user: Any) -> Attachment:
    chat = log.create(Owner.of(user), "web", "Trip")
    return attachments.keep(chat, io.BytesIO(PNG), name="secret-harbour.png")


def test_the_file_is_a_download_for_those_who_may_read(boss: Any, file: Attachment) -> None:
    page = boss.get(f"/admin/crossmemory/attachment/{file.pk}/change/").content.decode()
    assert "secret-harbour.png" in page
    answer = boss.get(f"/admin/crossmemory/attachment/{file.pk}/file/")
    assert answer["Content-Disposition"].startswith("attachment")
    assert b"".join(answer.streaming_content) == PNG
    assert boss.get("/admin/crossmemory/attachment/0/file/").status_code == 404


def test_others_see_that_there_is_one_and_not_what(helper: Any, file: Attachment) -> None:
    client = signed_in(helper)
    for page in ("", f"{file.pk}/change/"):
        answer = client.get(f"/admin/crossmemory/attachment/{page}")
        assert answer.status_code == 200
        assert "secret-harbour" not in answer.content.decode()
    assert client.get(f"/admin/crossmemory/attachment/{file.pk}/file/").status_code == 403
    helper.user_permissions.add(*permissions("read_text"))
    assert client.get(f"/admin/crossmemory/attachment/{file.pk}/file/").status_code == 200
