"""`manage.py crossmemory_schema > schema.json`: the attach protocol as JSON Schema, for clients in other languages."""

import json
from typing import Any

from django.core.management.base import BaseCommand

from crossmemory.attach.schema import document


class Command(BaseCommand):
    help = "Prints the JSON Schema of every frame and event of the attach protocol."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps(document(), indent=1, ensure_ascii=False))
