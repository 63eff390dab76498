"""ASGI entry point of the demo site."""

import os

from django.core.asgi import get_asgi_application

from crossmemory.asgi import with_crossmemory

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")

application = with_crossmemory(get_asgi_application())
