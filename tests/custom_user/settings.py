"""The tests' settings with a site's own user model: `pytest --ds tests.custom_user.settings`."""

from tests.settings import *  # noqa: F403
from tests.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.custom_user"]
AUTH_USER_MODEL = "custom_user.Person"
