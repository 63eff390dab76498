"""Only the sandbox, so that these tests need nothing else of the demo site."""

from django.urls import include, path

urlpatterns = [path("sandbox/", include("project.sandbox.urls"))]
