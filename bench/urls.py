from django.urls import include, path

urlpatterns = [path("api/crossmemory/", include("crossmemory.api.urls"))]
