"""Searching big tables: by keys and by person, which an index answers; by words only in one person's messages."""

import uuid
from typing import Any

from django.contrib.auth import get_user_model
from django.core.exceptions import FieldDoesNotExist, ValidationError
from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from crossmemory.memory import searching
from crossmemory.memory.searching.scope import Scope
from crossmemory.models import Conversation, Owner

HELP = _("By key, public id, or a person's exact user name.")
HELP_WITH_WORDS = _(
    "By key, public id, or a person's exact user name. “name: words” finds messages of this person by their words."
)


def find(rows: QuerySet[Any], term: str, person: str | None) -> QuerySet[Any]:
    """The row with this key or public id; else the rows of this person (`person`: the path to the user's column)."""
    if (keys := _keys(rows, term)) and (found := rows.filter(keys)).exists():
        return found
    if person is None:
        return rows.none()
    return rows.filter(**{f"{person}__in": people(term)})


def said(rows: QuerySet[Any], term: str) -> QuerySet[Any] | None:
    """For `ana: dentist`: messages of what this person and the assistants said, by words. None: the term is none such.

    Words are looked for in one person's history only, as that person's own search does it.
    """
    name, colon, query = term.partition(":")
    if not colon or not query.strip():
        return None
    keys: list[int] = []
    for user in people(name.strip()):
        tenants = Conversation.objects.filter(user=user).order_by().values_list("tenant", flat=True).distinct()
        for tenant in list(tenants):
            scope = Scope(Owner(user, tenant, None), remembered=False)
            keys += [found.message.id for found in searching.find(scope, query, limit=searching.MOST)]
    return rows.filter(pk__in=keys)


def people(term: str) -> list[Any]:
    """Keys of the users who have this exact user name, or this key."""
    model = get_user_model()
    users = model._default_manager.all()
    named = users.filter(**{model.USERNAME_FIELD: term}).values_list("pk", flat=True)[:10]
    if found := list(named):
        return found
    try:
        key = model._meta.pk.to_python(term)
    except ValidationError:
        return []
    return list(users.filter(pk=key).values_list("pk", flat=True))


def _keys(rows: QuerySet[Any], term: str) -> Q:
    if term.isascii() and term.isdecimal():
        return Q(pk=int(term))
    try:
        rows.model._meta.get_field("uid")
        return Q(uid=uuid.UUID(term))
    except (FieldDoesNotExist, ValueError):
        return Q()
