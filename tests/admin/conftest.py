from typing import Any

import pytest
from django.contrib import admin
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import path

from crossmemory.models import Message
from crossmemory.testing.factories import UserFactory

urlpatterns = [path("admin/", admin.site.urls)]


@pytest.fixture(autouse=True)
def _urls(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def permissions(*codenames: str) -> Any:
    if "read_text" in codenames:
        about = {"content_type": ContentType.objects.get_for_model(Message)}
        Permission.objects.get_or_create(codename="read_text", **about, defaults={"name": "Can read what people said"})
    return Permission.objects.filter(codename__in=codenames)


@pytest.fixture
def boss(db: None) -> Client:
    """A superuser's browser."""
    return signed_in(UserFactory(is_staff=True, is_superuser=True))


@pytest.fixture
def helper(db: None) -> Any:
    """A member of staff who may view everything of the app, but not read words."""
    user = UserFactory(is_staff=True)
    views = Permission.objects.filter(content_type__app_label="crossmemory", codename__startswith="view_")
    user.user_permissions.set(views)
    return user
