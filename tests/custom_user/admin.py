from django.contrib import admin
from django.contrib.auth.admin import UserAdmin

from tests.custom_user.models import Person

admin.site.register(Person, UserAdmin)
