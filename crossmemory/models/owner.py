"""Whose it is: user + tenant + agent, applied to every query by one function."""

from dataclasses import dataclass
from typing import Any, Self, TypeVar

from django.contrib.auth.models import AbstractBaseUser
from django.db import models

from crossmemory.conf import settings

DEFAULT_AGENT = "default"

M = TypeVar("M", bound=models.Model)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose memory: a user's key, a tenant, and an agent's alias (None: any agent of this user)."""

    user_id: Any
    tenant: str = ""
    agent: str | None = DEFAULT_AGENT

    @classmethod
    def of(cls, user: AbstractBaseUser, agent: str | None = DEFAULT_AGENT) -> Self:
        """The owner that a signed-in user is. Raises ValueError for an anonymous one."""
        if user is None or user.pk is None:
            raise ValueError("Memory belongs to somebody: a saved user is needed.")
        tenant = settings.imported("TENANT")(user) if settings.TENANT else ""
        return cls(user.pk, str(tenant), agent)


class OwnedQuerySet(models.QuerySet[M]):
    """Rows of people. `of` is the only door through which the app reads them on somebody's behalf."""

    #: the lookup that leads from a row to its owner's columns
    owner_prefix = ""
    owner_field = "user"
    #: False where rows belong to a person whatever the agent
    per_agent = True

    def of(self, owner: Owner) -> Self:
        """The rows that belong to `owner`, and no others."""
        lookups = {
            f"{self.owner_prefix}{self.owner_field}_id": owner.user_id,
            f"{self.owner_prefix}tenant": owner.tenant,
        }
        if self.per_agent and owner.agent is not None:
            lookups[f"{self.owner_prefix}agent"] = owner.agent
        return self.filter(**lookups)


class PersonQuerySet(OwnedQuerySet[M]):
    """Rows that belong to a person (user + tenant), whatever the agent."""

    per_agent = False
