"""Accounts are connected by a code, confirmed, changed and disconnected."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from crossmemory import linking
from crossmemory.models import Conversation, LinkCode, SurfaceLink
from tests.api.conftest import Api, said

pytestmark = pytest.mark.django_db

BOT = "7000000001"


def linked(api: Api, sender: str = "5001", sharing: str = "both") -> str:
    """A code is made on the site and sent from an outside account; returns the id of what waits."""
    code = api("post", "accounts/codes/", {"surface": "telegram", "sharing": sharing}).json()["code"]
    return str(linking.use_code("telegram", BOT, code, sender, sender, "Ana").uid)


def test_nothing_is_connected_at_first(api: Api) -> None:
    answer = api("get", "accounts/").json()
    assert answer["accounts"] == []
    assert {"alias": "web", "label": "Web", "connectable": False} in answer["surfaces"]
    assert {"alias": "telegram", "label": "Telegram", "connectable": True} in answer["surfaces"]


def test_a_code_and_the_address_that_uses_it(api: Api) -> None:
    answer = api("post", "accounts/codes/", {"surface": "telegram", "sharing": "reads"})
    assert answer.status_code == 201
    made = answer.json()
    assert set(made) == {"code", "url", "expires_at", "surface"}
    assert made["url"] is None or made["code"] in made["url"]
    row = LinkCode.objects.get()
    assert (row.sharing, row.surface) == ("reads", "telegram")
    assert made["code"] not in row.code_hash


@pytest.mark.parametrize(
    "body", [{}, {"surface": "pager"}, {"surface": "web"}, {"surface": "telegram", "sharing": "all"}, {"surface": []}]
)
def test_only_what_can_be_connected_gets_a_code(api: Api, body: Any) -> None:
    answer = api("post", "accounts/codes/", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert not LinkCode.objects.exists()


def test_codes_are_limited_per_person(api: Api, stranger: Api) -> None:
    for _ in range(20):
        assert api("post", "accounts/codes/", {"surface": "telegram"}).status_code == 201
    answer = api("post", "accounts/codes/", {"surface": "telegram"})
    assert (answer.status_code, answer.json()["code"]) == (429, "throttled")
    assert 0 < int(answer["Retry-After"]) <= 3600
    assert stranger("post", "accounts/codes/", {"surface": "telegram"}).status_code == 201


def test_from_code_to_disconnected(api: Api, user: Any) -> None:
    account = linked(api)
    (waiting,) = api("get", "accounts/").json()["accounts"]
    assert waiting == {
        **waiting,
        "id": account,
        "surface": "telegram",
        "label": "Telegram",
        "name": "Ana",
        "status": "pending",
        "sharing": "both",
    }
    confirmed = api("post", f"accounts/{account}/confirm/", {})
    assert (confirmed.status_code, confirmed.json()["status"]) == (200, "active")
    changed = api("patch", f"accounts/{account}/", {"sharing": "separate"})
    assert (changed.status_code, changed.json()["sharing"]) == (200, "separate")
    phone = Conversation.objects.get()
    assert (phone.shared, phone.reads) == (False, False)
    assert api("delete", f"accounts/{account}/?history=keep").status_code == 204
    assert api("get", "accounts/").json()["accounts"] == []
    assert Conversation.objects.exists()
    assert api("delete", f"accounts/{account}/").status_code == 404


@pytest.mark.parametrize(
    ("body", "sharing"),
    [
        ({"shared": False}, "reads"),
        ({"reads": False}, "separate"),
        ({"shared": False, "reads": False}, "separate"),
        ({"shared": True, "reads": True}, "both"),
    ],
)
def test_an_account_and_its_conversation_never_disagree(api: Api, body: Any, sharing: str) -> None:
    account = linked(api)
    api("post", f"accounts/{account}/confirm/")
    phone = Conversation.objects.get()
    shown = api("patch", f"conversations/{phone.uid}/", body).json()
    (link,) = api("get", "accounts/").json()["accounts"]
    assert (link["sharing"], shown["shared"], shown["reads"]) == (sharing, sharing == "both", sharing != "separate")
    api("patch", f"accounts/{account}/", {"sharing": "both"})
    shown = api("get", f"conversations/{phone.uid}/").json()
    assert (shown["shared"], shown["reads"]) == (True, True)


def test_history_can_go_with_the_account(api: Api) -> None:
    account = linked(api)
    api("post", f"accounts/{account}/confirm/")
    said(Conversation.objects.get(), "hello")
    assert api("delete", f"accounts/{account}/?history=remove").status_code == 204
    assert not Conversation.objects.exists()


def test_what_waits_can_be_refused(api: Api) -> None:
    account = linked(api)
    assert api("delete", f"accounts/{account}/?history=remove").status_code == 204
    assert SurfaceLink.objects.get().status == "ended"
    assert api("post", f"accounts/{account}/confirm/").status_code == 404


def test_confirming_twice_names_nothing_that_waits(api: Api) -> None:
    account = linked(api)
    api("post", f"accounts/{account}/confirm/")
    answer = api("post", f"accounts/{account}/confirm/")
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")


@pytest.mark.parametrize(("query", "body"), [("?history=all", None), ("", {"sharing": "all"}), ("", {})])
def test_wrong_choices_are_refused(api: Api, query: str, body: Any) -> None:
    account = linked(api)
    answer = api("delete" if body is None else "patch", f"accounts/{account}/{query}", body)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid")
    assert SurfaceLink.objects.get().status == "pending"


def test_the_list_costs_the_same_however_many_are_connected(api: Api, user: Any) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            api("get", "accounts/")
        return len(captured)

    api("get", "accounts/")
    before = queries()
    for number in range(4):
        SurfaceLink.objects.create(
            user=user, surface="telegram", account=f"bot {number}", external_id="5", status="active"
        )
    assert queries() == before


def test_whether_permission_is_given_there_is_the_persons_choice(api: Api, user: Any) -> None:
    link = SurfaceLink.objects.create(
        user=user, surface="telegram", account="1", external_id="5", name="Ana", status="active"
    )
    [account] = api("get", "accounts/").json()["accounts"]
    assert (account["approvals"], account["has_buttons"]) == (False, True)
    changed = api("patch", f"accounts/{link.uid}/", {"approvals": True})
    assert (changed.status_code, changed.json()["approvals"], changed.json()["sharing"]) == (200, True, "both")
    assert api("patch", f"accounts/{link.uid}/", {"approvals": "yes"}).status_code == 400
    assert api("patch", f"accounts/{link.uid}/", {}).status_code == 400
    assert SurfaceLink.objects.get().approvals
