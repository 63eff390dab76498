"""Who may do what beyond Django's own four permissions."""

from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

READ_TEXT = "crossmemory.read_text"
"""Reading what people said. Staff without it see who, where and when, and never load the words."""

HIDDEN = _("(hidden: reading what people said needs a permission)")


def may_read(request: HttpRequest) -> bool:
    """Whether this member of staff may read what people said."""
    return request.user.has_perm(READ_TEXT)


def may(request: HttpRequest, action: str, model: str) -> bool:
    return request.user.has_perm(f"crossmemory.{action}_{model}")
