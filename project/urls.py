from django.conf import settings
from django.contrib import admin
from django.urls import include, path
from django.views.generic import RedirectView

from project.demo.views import SignIn

urlpatterns = [
    path("", RedirectView.as_view(url="/demo/")),
    path("favicon.ico", RedirectView.as_view(url=f"{settings.STATIC_URL}demo/icon.svg")),
    path("admin/", admin.site.urls),
    path("accounts/login/", SignIn.as_view(), name="login"),
    path("accounts/", include("django.contrib.auth.urls")),
    path("i18n/", include("django.conf.urls.i18n")),
    path("api/crossmemory/", include("crossmemory.api.urls")),
    path("sandbox/", include("project.sandbox.urls")),
    path("demo/", include("project.demo.urls")),
]
