"""Who may use which agent: `AGENTS[alias]["ALLOWED"]`, the dotted path of `def allowed(user) -> bool`."""

import logging
from typing import Any

from django.contrib.auth import get_user_model
from django.utils.module_loading import import_string

from crossmemory.conf import settings
from crossmemory.exceptions import AgentNotAllowed

logger = logging.getLogger(__name__)


def is_limited(agent: str) -> bool:
    """Whether the site asks who it is before somebody uses this agent."""
    return bool(settings.AGENTS.get(agent, {}).get("ALLOWED"))


def may_use(user: Any, agent: str) -> bool:
    """Whether this user may use the agent now. A predicate that fails says no."""
    path = settings.AGENTS.get(agent, {}).get("ALLOWED")
    if not path:
        return True
    try:
        return bool((import_string(path) if isinstance(path, str) else path)(user))
    except Exception:
        logger.exception("AGENTS[%r]['ALLOWED'] failed; user %s is not let in.", agent, user.pk)
        return False


def check(user: Any, agent: str) -> None:
    """Raises AgentNotAllowed."""
    if not may_use(user, agent):
        raise AgentNotAllowed


def check_conversation(conversation: Any) -> None:
    """The same for the person of a conversation, as they are now: read anew, and only where it matters."""
    if is_limited(conversation.agent):
        check(get_user_model()._default_manager.get(pk=conversation.user_id), conversation.agent)
