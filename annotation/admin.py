"""Read-only admin pages for annotators and answers.

Nothing that would break a study can be edited here.
"""

from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    AnnotatorEvent,
    Assignment,
    CompletionCode,
    DemographicQuestion,
    Invitation,
    ProlificStudy,
    QuotaGroup,
)
from studies.admin import LookOnly


class EventInline(admin.TabularInline):
    model = AnnotatorEvent
    readonly_fields = ("created_at", "event", "before", "after", "detail", "user")
    fields = readonly_fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class RevisionInline(admin.TabularInline):
    model = AnnotationRevision
    readonly_fields = ("number", "choice", "certainty", "answered_at", "elapsed_ms", "active_ms")
    fields = readonly_fields
    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


@admin.register(Annotator)
class AnnotatorAdmin(LookOnly):
    list_display = [
        "pseudonym",
        "study",
        "state",
        "quota_group",
        "works_surplus",
        "created_at",
        "ended_at",
        "excluded_at",
    ]
    list_filter = ["state", "works_surplus", "is_imported", "study"]
    list_select_related = ["study", "quota_group"]
    search_fields = ["pseudonym"]
    # The hash identifies a person, and the code opens the annotator's pages.
    exclude = ["identity_hash", "resume_code"]
    inlines = [EventInline]
    ordering = ["-pk"]


@admin.register(Assignment)
class AssignmentAdmin(LookOnly):
    list_display = ["annotator", "item", "position", "shown_first", "state", "is_surplus"]
    list_filter = ["state", "is_surplus", "annotator__study"]
    list_select_related = ["annotator", "item"]
    search_fields = ["annotator__pseudonym", "item__key"]
    ordering = ["-pk"]


@admin.register(Annotation)
class AnnotationAdmin(LookOnly):
    list_display = [
        "annotator",
        "item",
        "choice",
        "certainty",
        "standing",
        "revision",
        "answered_at",
    ]
    list_filter = ["standing", "choice", "assignment__annotator__study"]
    list_select_related = ["assignment__annotator", "assignment__item"]
    search_fields = ["assignment__annotator__pseudonym", "assignment__item__key"]
    inlines = [RevisionInline]
    ordering = ["-pk"]

    @admin.display(ordering="assignment__annotator__pseudonym")
    def annotator(self, annotation: Annotation) -> str:
        return str(annotation.assignment.annotator)

    @admin.display(ordering="assignment__item__key")
    def item(self, annotation: Annotation) -> str:
        return str(annotation.assignment.item)


@admin.register(CompletionCode)
class CompletionCodeAdmin(LookOnly):
    list_display = ["study", "ending", "code"]
    list_filter = ["study"]
    list_select_related = ["study"]


@admin.register(ProlificStudy)
class ProlificStudyAdmin(LookOnly):
    list_display = ["study", "prolific_id", "status", "seen_at"]
    list_select_related = ["study"]


class UntilSomebodyEnters(admin.ModelAdmin):
    """Settings of a study that are fixed once the first annotator has entered."""

    list_filter = ["study"]
    list_select_related = ["study"]

    def _is_fixed(self, obj: Any) -> bool:
        return obj is not None and obj.study.annotators.filter(is_imported=False).exists()

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_change_permission(request, obj) and not self._is_fixed(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not self._is_fixed(obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """Remove bulk deletion, which does not check the permission for each row."""
        actions = super().get_actions(request)
        actions.pop("delete_selected", None)
        return actions


@admin.register(DemographicQuestion)
class DemographicQuestionAdmin(UntilSomebodyEnters):
    list_display = ["study", "position", "key", "label"]


@admin.register(QuotaGroup)
class QuotaGroupAdmin(UntilSomebodyEnters):
    list_display = ["study", "__str__", "target", "reserved", "completed"]
    readonly_fields = ["reserved", "completed"]


@admin.register(Invitation)
class InvitationAdmin(admin.ModelAdmin):
    list_display = ["study", "created_at"]
    list_filter = ["study"]
    list_select_related = ["study"]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Invitation]:
        return super().get_queryset(request).order_by("-pk")
