"""Tables in Django's admin: nothing that would break a study can be edited there.

Items, people, answers, runs and reports are read-only, and of a judge only what no answer depends
on can be changed.
"""

from typing import Any, cast

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.db.models import Model, QuerySet
from django.http import HttpRequest

from analysis.models import Export, Report
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
from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.runs.judges import IDENTITY
from studies.errors import FrozenStudy
from studies.models import FeatureSet, Item, Membership, Persona, SignIn, Study, StudyLog
from studies.models.added_settings import added_fields, read_added, store_added
from studies.services.settings import frozen_fields, save_settings
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


class MembershipInline(admin.TabularInline):
    model = Membership
    autocomplete_fields = ("user",)
    extra = 0


class StudyForm(forms.ModelForm):
    """A study with the settings that extras add, which `StudyAdmin` makes fields of it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial = {**read_added(self.instance), **self.initial}

    def clean(self) -> dict[str, Any]:
        data = super().clean() or {}
        vars(self.instance).update({n: data[n] for n in added_fields() if n in data})
        return data


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
    exclude = ("extras",)  # They have a page of the study.
    inlines = (MembershipInline,)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        added = {name: field.formfield() for name, field in added_fields().items()}
        kwargs["form"] = type("StudyForm", (StudyForm,), added)
        return super().get_form(request, obj, change, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        if obj is None:
            return self.readonly_fields
        return (*self.readonly_fields, "slug", *frozen_fields(obj))

    def get_prepopulated_fields(self, request: HttpRequest, obj: Study | None = None) -> Any:
        return {} if obj else self.prepopulated_fields

    def has_delete_permission(self, request: HttpRequest, obj: Study | None = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        user = cast(User, request.user)
        if not change:
            obj.save()
            store_added(obj)
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


@admin.register(Judge)
class JudgeAdmin(admin.ModelAdmin):
    list_display = (
        "name",
        "backend",
        "model",
        "base_url",
        "concurrency",
        "price_input",
        "price_output",
    )
    list_filter = ("backend",)
    search_fields = ("name", "model")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Judge | None = None
    ) -> tuple[str, ...]:
        """Only the command sets where a key is sent, because it checks the address. Not everyone
        who can sign in here is trusted with keys. Fields that answers depend on are fixed once a
        run used the judge."""
        commands = ("base_url", "api_key_env", "own_sources")
        if obj is None or not obj.runs.exists():
            return commands
        return ("name", *commands, *(name for name in IDENTITY if name not in commands))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # add_judge checks address and key

    def has_delete_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        return obj is not None and not obj.runs.exists()


@admin.register(JudgeRun)
class JudgeRunAdmin(LookOnly):
    list_display = (
        "public_id",
        "study",
        "judge",
        "setting",
        "features",
        "orders",
        "samples",
        "state",
        "sentence",
        "created_at",
    )
    list_filter = ("state", "setting", "judge")
    list_select_related = ("study", "judge")
    search_fields = ("public_id", "study__slug", "judge__name")


@admin.register(Judgment)
class JudgmentAdmin(LookOnly):
    list_display = (
        "item",
        "run",
        "shown_first",
        "sample",
        "state",
        "choice",
        "certainty",
        "replies",
    )
    list_filter = ("state", "choice")
    list_select_related = ("item", "run")
    search_fields = ("item__key", "run__public_id")


@admin.register(Attempt)
class AttemptAdmin(LookOnly):
    list_display = (
        "judgment",
        "number",
        "outcome",
        "status_code",
        "sent_at",
        "latency_ms",
        "prompt_tokens",
        "completion_tokens",
    )
    list_filter = ("outcome",)
    list_select_related = ("judgment",)
    search_fields = ("judgment__run__public_id", "request_id")


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
