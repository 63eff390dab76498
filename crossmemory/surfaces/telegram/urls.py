"""Where Telegram brings updates to, for bots that run with --webhook; include it anywhere."""

from django.urls import path

from crossmemory.surfaces.telegram.webhook import receive

app_name = "crossmemory_telegram"

urlpatterns = [path("<str:alias>/updates/", receive, name="updates")]
