"""The administration of studies: items are read-only, frozen studies cannot be changed."""

from typing import Any, cast

from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest

from studies.errors import FrozenStudy
from studies.models import FeatureSet, Item, Membership, Persona, SignIn, Study, StudyLog
from studies.services.accounts.credentials import end_all
from studies.services.settings import FROZEN_FIELDS, save_settings
from studies.services.studies import record


class LookOnly(admin.ModelAdmin):
    """Rows that are created elsewhere and are read-only in the admin."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):
    """Django's own page of accounts; deactivating an account ends its sessions and tokens."""

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            end_all(user=obj)


class MembershipInline(admin.TabularInline):
    model = Membership
    autocomplete_fields = ("user",)
    extra = 0


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin):
    list_display = ("title", "slug", "state", "task", "frozen_at", "is_simulated", "created_at")
    list_filter = ("state", "task", "is_simulated")
    search_fields = ("title", "slug")
    readonly_fields = (
        "state",
        "is_simulated",
        "seed",
        "version",
        "frozen_at",
        "content_hash",
        "created_at",
    )
    prepopulated_fields = {"slug": ("title",)}
    inlines = (MembershipInline,)

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        if obj is None:
            return self.readonly_fields
        fixed = (*self.readonly_fields, "slug")
        return (*fixed, *FROZEN_FIELDS) if obj.frozen_at else fixed

    def get_prepopulated_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        return {} if obj else self.prepopulated_fields

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        user = cast(User, request.user)
        if not change:
            obj.save()
            record(obj, "created", user=user)
            return
        try:
            save_settings(obj, changed=form.changed_data, user=user)
        except FrozenStudy as error:
            self.message_user(request, str(error), messages.ERROR)


@admin.register(Item)
class ItemAdmin(LookOnly):
    list_display = ("key", "study", "split", "topic", "first_person", "answered", "seats_needed")
    list_filter = ("split", "study")
    list_select_related = ("study",)
    search_fields = ("key", "question")

    def get_queryset(self, request: HttpRequest) -> Any:
        return Item.everything.select_related("study", "persona")


@admin.register(Persona)
class PersonaAdmin(LookOnly):
    list_display = ("key", "study", "created_at")
    list_filter = ("study",)
    list_select_related = ("study",)
    search_fields = ("key",)


@admin.register(FeatureSet)
class FeatureSetAdmin(admin.ModelAdmin):
    list_display = ("name", "study", "keys")
    list_filter = ("study",)
    list_select_related = ("study",)


@admin.register(StudyLog)
class StudyLogAdmin(LookOnly):
    list_display = ("created_at", "study", "event", "user", "detail")
    list_filter = ("event", "study")
    list_select_related = ("study", "user")


@admin.register(SignIn)
class SignInAdmin(LookOnly):
    list_display = ("created_at", "outcome", "user", "address")
    list_filter = ("outcome",)
    search_fields = ("address", "user__username")
