from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class SandboxConfig(AppConfig):
    name = "project.sandbox"
    label = "sandbox"
    verbose_name = _("Telegram sandbox")
    default_auto_field = "django.db.models.BigAutoField"
