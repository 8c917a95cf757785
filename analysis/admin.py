"""Reports in the admin: to look at, never to edit; a report is only ever built."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from analysis.models import Report


@admin.register(Report)
class ReportAdmin(admin.ModelAdmin):
    list_display = (
        "public_id",
        "study",
        "state",
        "progress",
        "message",
        "threshold",
        "bootstrap",
        "seed",
        "requested_by",
        "created_at",
    )
    list_filter = ("state", "study")
    list_select_related = ("study", "requested_by")
    search_fields = ("public_id", "study__slug", "inputs_hash")
    # The result is the whole of report.json; the study's page offers it as a download.
    exclude = ("result",)
    ordering = ("-created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
