"""The sandbox, and the app's own addresses, where it brings updates to."""

from django.urls import include, path

from crossmemory.management import health

urlpatterns = [
    path("sandbox/", include("project.sandbox.urls")),
    path("telegram/", include("crossmemory.surfaces.telegram.urls")),
    path("health/", health.view),
]
