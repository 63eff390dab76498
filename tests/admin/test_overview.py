"""The start block of the app's page, in any admin site."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import path
from django.utils import timezone

from crossmemory.admin import ConversationAdmin, RunAdmin
from crossmemory.models import Conversation, Poller, Run
from crossmemory.testing.factories import DeliveryFactory, InboundUpdateFactory, PollerFactory, UserFactory
from tests.admin.conftest import signed_in
from tests.admin.world import make, page

other_site = admin.AdminSite("backstage")
other_site.register(Conversation, ConversationAdmin)
other_site.register(Run, RunAdmin)
urlpatterns = [path("backstage/", other_site.urls)]

pytestmark = pytest.mark.django_db


def test_it_says_what_needs_attention(boss: Client) -> None:
    make(UserFactory())
    PollerFactory(state="conflict")
    body = boss.get("/admin/crossmemory/").content.decode()
    for words in ("Replies under way", "Failed deliveries", "Incoming updates", "another program polls this bot"):
        assert words in body
    assert "status__exact=pending" in body
    assert "attention=1" in body


def test_a_bot_whose_process_died_is_stopped_whatever_it_said_last(boss: Client) -> None:
    poller = PollerFactory(state="ok", lease_until=timezone.now() - timedelta(seconds=1))
    for address in ("/admin/crossmemory/", page(Poller, "changelist"), page(Poller, "change", poller.pk)):
        assert "stopped" in boss.get(address).content.decode()


def test_it_costs_the_same_for_more_rows(boss: Client) -> None:
    def cost() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert boss.get("/admin/crossmemory/").status_code == 200
        return len(captured)

    few = cost()
    for _ in range(5):
        make(UserFactory())
    assert cost() == few <= 10


def test_counting_stops(boss: Client) -> None:
    message = DeliveryFactory(status="failed").message
    for piece in range(1, 105):
        DeliveryFactory(message=message, status="failed", piece=piece)
    assert "<strong>100+</strong>" in boss.get("/admin/crossmemory/").content.decode()


def test_staff_see_only_what_they_may() -> None:
    InboundUpdateFactory(status="dead")
    PollerFactory()
    user = UserFactory(is_staff=True)
    from tests.admin.conftest import permissions

    user.user_permissions.set(permissions("view_conversation"))
    body = signed_in(user).get("/admin/crossmemory/").content.decode()
    assert "cm-figures" not in body
    assert "cm-pollers" not in body


def test_another_admin_site_works_without_the_rest(settings: Any, boss: Client) -> None:
    settings.ROOT_URLCONF = __name__
    rows = make(UserFactory(username="ana"))
    body = boss.get("/backstage/crossmemory/").content.decode()
    assert "/backstage/crossmemory/run/" in body
    for model in (Conversation, Run):
        url = f"/backstage/crossmemory/{model.__name__.lower()}/"
        assert boss.get(url).status_code == 200
        body = boss.get(f"{url}{rows[model].pk}/change/").content.decode()
        assert "ana" in body
        assert 'href="/admin/' not in body
