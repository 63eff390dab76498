"""For measurements that need no server: Django on an SQLite database in memory, gone at the end; or on a given one."""

from collections.abc import Mapping
from typing import Any


def start(crossmemory: Mapping[str, Any] | None = None, database: str = "") -> None:
    """Set Django up with these settings of the app, on the database at a URL or in memory, and make the tables."""
    import dj_database_url
    import django
    from django.conf import settings
    from django.core.management import call_command

    settings.configure(
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "crossmemory"],
        DATABASES={"default": dj_database_url.parse(database or "sqlite://:memory:")},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
        SECRET_KEY="bench",
        CROSSMEMORY=dict(crossmemory or {}),
    )
    django.setup()
    call_command("migrate", verbosity=0)
