"""For measurements that need no server: Django on an SQLite database in memory, gone at the end."""

from collections.abc import Mapping
from typing import Any


def start(crossmemory: Mapping[str, Any] | None = None) -> None:
    """Set Django up with these settings of the app, and make the tables."""
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.configure(
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "crossmemory"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        SECRET_KEY="bench",
        CROSSMEMORY=dict(crossmemory or {}),
    )
    django.setup()
    call_command("migrate", verbosity=0)
