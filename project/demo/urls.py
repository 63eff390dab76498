from django.urls import path

from project.demo import views

app_name = "demo"
urlpatterns = [
    path("", views.demo, name="demo"),
    path("tab/<uuid:conversation>/", views.tab, name="tab"),
    path("run/<uuid:message>/", views.run, name="run"),
    path("bot/", views.bot, name="bot"),
    path("kill-bot/", views.kill_bot, name="kill-bot"),
]
