"""Judges may be edited in what their answers do not depend on; runs and answers are to look at."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from judging.models import Attempt, Judge, JudgeRun, Judgment


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the services may write."""

    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Judge)
class JudgeAdmin(admin.ModelAdmin):
    list_display = (
        "name", "backend", "model", "base_url", "concurrency", "price_input", "price_output",
    )  # fmt: skip
    list_filter = ("backend",)
    search_fields = ("name", "model")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Judge | None = None
    ) -> tuple[str, ...]:
        """What answers depend on is fixed once a run has used the judge, and so is its address,
        which the command checks against the key that would be sent there."""
        if obj is None or not obj.runs.exists():
            return ("base_url", "api_key_env", "own_sources")
        return (
            "name", "backend", "model", "base_url", "api_key_env", "temperature", "top_p",
            "max_tokens", "own_sources",
        )  # fmt: skip

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # add_judge checks address and key

    def has_delete_permission(self, request: HttpRequest, obj: Judge | None = None) -> bool:
        return obj is not None and not obj.runs.exists()


@admin.register(JudgeRun)
class JudgeRunAdmin(ReadOnlyAdmin):
    list_display = (
        "public_id", "study", "judge", "setting", "features", "orders", "samples", "state",
        "sentence", "created_at",
    )  # fmt: skip
    list_filter = ("state", "setting", "judge")
    list_select_related = ("study", "judge")
    search_fields = ("public_id", "study__slug", "judge__name")


@admin.register(Judgment)
class JudgmentAdmin(ReadOnlyAdmin):
    list_display = (
        "item", "run", "shown_first", "sample", "state", "choice", "certainty", "replies",
    )  # fmt: skip
    list_filter = ("state", "choice")
    list_select_related = ("item", "run")
    search_fields = ("item__key", "run__public_id")


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = (
        "judgment", "number", "outcome", "status_code", "sent_at", "latency_ms", "prompt_tokens",
        "completion_tokens",
    )  # fmt: skip
    list_filter = ("outcome",)
    list_select_related = ("judgment",)
    search_fields = ("judgment__run__public_id", "request_id")
