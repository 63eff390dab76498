import uuid

from django.contrib.auth.models import AbstractUser
from django.db import models


class Person(AbstractUser):
    """A site's own user, with a key that is no number."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
