"""Judges can be edited in fields that do not affect answers; runs and answers are read-only."""

from django.contrib import admin
from django.http import HttpRequest

from judging.models import Attempt, Judge, JudgeRun, Judgment
from judging.runs.judges import IDENTITY
from studies.admin import LookOnly


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
