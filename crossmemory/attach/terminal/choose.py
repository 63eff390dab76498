"""Who attaches to what: a person and one of their conversations, named as people name them."""

import uuid

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.utils.translation import gettext as _

from crossmemory import db
from crossmemory.attach.terminal.harmless import one_line
from crossmemory.attach.terminal.told import moment
from crossmemory.exceptions import NotFound
from crossmemory.models import Conversation, Owner
from crossmemory.models.conversation import ConversationQuerySet

LISTED = 200
_NAMED = 20  # of what exists, in an error


def person(name: str) -> AbstractBaseUser:
    """The user with a login name. Raises NotFound, which names some that exist."""
    model = get_user_model()
    users = model._default_manager.using(db.write_alias(model))
    found = users.filter(**{model.USERNAME_FIELD: name}).first()
    if found is None:
        first = users.order_by(model.USERNAME_FIELD).values_list(model.USERNAME_FIELD, flat=True)[:_NAMED]
        names = [one_line(str(each)) for each in first]
        known = _("There are: %(names)s.") % {"names": ", ".join(names)} if names else _("There are no users yet.")
        raise NotFound(_("There is no user “%(name)s”.") % {"name": name} + " " + known)
    if not found.is_active:
        raise NotFound(_("The user “%(name)s” is not active.") % {"name": name})
    return found


def conversations(user: AbstractBaseUser) -> ConversationQuerySet:
    """Newest first."""
    mine = Conversation.objects.using(db.write_alias(Conversation)).of(Owner.of(user, None))
    return mine.order_by("-updated_at", "-pk")


def conversation(user: AbstractBaseUser, name: str) -> Conversation:
    """By id, by the first characters of an id, by title, or by the surface it belongs to; the newest that fits.

    Raises NotFound, which names what exists.
    """
    mine = conversations(user)
    try:
        found = mine.filter(uid=uuid.UUID(name)).first()
    except ValueError:
        found = mine.filter(title__iexact=name).first() or mine.filter(singleton=True, surface__iexact=name).first()
        if found is None and len(name) >= 4:
            found = next((each for each in mine[:LISTED] if str(each.uid).startswith(name.lower())), None)
    if found is not None:
        return found
    lines = [_("There is no conversation “%(name)s”.") % {"name": name}, *map(line, mine[:_NAMED])]
    raise NotFound("\n".join(lines) if len(lines) > 1 else lines[0] + " " + _("There are none yet: --new begins one."))


def line(conversation: Conversation) -> str:
    """A conversation in one line: the beginning of its id, its title, and when something happened last."""
    title = one_line(conversation.title) or str(conversation)
    return f"  {str(conversation.uid)[:8]}  {moment(conversation.updated_at)}  {title}"
