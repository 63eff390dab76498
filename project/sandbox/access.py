"""Who may come in: the sandbox has no passwords, so it is open only where a developer opened it."""

from django.conf import settings
from django.http import HttpRequest


def refusal(request: HttpRequest) -> tuple[int, str] | None:
    """A status and the reason why this request is not let in, or None."""
    if not (settings.DEBUG or getattr(settings, "SANDBOX", False)):
        return 404, "the sandbox is off: it runs with DEBUG, or where the setting SANDBOX is true"
    if request.method != "GET" and request.headers.get("Sec-Fetch-Site") == "cross-site":
        return 403, "another site's page may not use the sandbox"
    return None
