"""Reports and exports in the admin, read-only."""

from typing import cast

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest

from analysis.models import Export, Report
from studies.admin import LookOnly


@admin.register(Report)
class ReportAdmin(LookOnly):
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
    # The result is all of report.json, which the study's page offers as a download.
    exclude = ("result",)
    ordering = ("-created_at",)


@admin.register(Export)
class ExportAdmin(LookOnly):
    """All exports on this server. They are requested and downloaded on a study's page."""

    list_display = (
        "public_id",
        "study",
        "what",
        "format",
        "identified",
        "free_text",
        "state",
        "progress",
        "message",
        "size",
        "requested_by",
        "created_at",
        "expires_at",
    )
    list_filter = ("state", "identified", "free_text", "what", "study")
    list_select_related = ("study", "requested_by")
    search_fields = ("public_id", "study__slug", "filename", "sha256")
    ordering = ("-created_at",)
    actions = ("delete_files",)

    @admin.action(description="Delete files or stop exports")
    def delete_files(self, request: HttpRequest, chosen: QuerySet[Export]) -> None:
        from analysis.exports.requests import delete_export  # loads the code of all tables

        for export_id in chosen.values_list("pk", flat=True):
            delete_export(export_id=export_id, user=cast(User, request.user))
        self.message_user(request, "The files are deleted. The list keeps the exports.")
