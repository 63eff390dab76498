"""What the template tag tells the page."""

import re
from typing import Any

import pytest
from django.template import Context, Template
from django.test import RequestFactory

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", ["en", "es"])
def test_the_page_knows_the_limits_of_its_site(user: Any, settings: Any, language: str) -> None:
    settings.CROSSMEMORY = {**settings.CROSSMEMORY, "MAX_TEXT_BYTES": 12_345, "MAX_ATTACHMENTS": 3}
    settings.LANGUAGE_CODE = language
    settings.USE_THOUSAND_SEPARATOR = True
    request = RequestFactory().get("/")
    request.user = user
    page = Template("{% load crossmemory %}{% crossmemory_chat %}").render(Context({"request": request}))
    assert re.findall(r'data-max-(\w+)="([^"]*)"', page) == [("text", "12345"), ("file", "20971520"), ("files", "3")]
