"""Django's admin: the page of accounts, which extras complete."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

from studies.services.accounts.credentials import end_all

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's own page of accounts; deactivating an account ends its sessions and tokens."""

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            end_all(user=obj)
