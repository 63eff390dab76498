from django.apps import AppConfig, apps
from django.contrib.auth import get_user_model
from django.db.models.signals import post_migrate, pre_delete
from django.utils.translation import gettext_lazy as _


class CrossmemoryConfig(AppConfig):
    name = "crossmemory"
    verbose_name = _("Assistant")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from crossmemory import checks, erase
        from crossmemory.memory.searching import index

        checks.register()
        post_migrate.connect(index.look_after, sender=self)
        # By sender, proxies of the user model too: a receiver for every model would slow every delete of the site.
        users = get_user_model()
        for model in apps.get_models():
            if issubclass(model, users):
                pre_delete.connect(erase.forget_deleted_user, sender=model)
