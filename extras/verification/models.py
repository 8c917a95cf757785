"""Rechecks of stored reports."""

from django.db import models
from django.db.models import Q

from analysis.models import Report
from studies.jobs.models import Job


class Recheck(Job):
    """A recomputation of a report, and its changes."""

    failure = "The report could not be computed again"
    unharmed = "The report and your answers are unchanged."

    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="rechecks")
    found = models.JSONField(
        null=True, help_text="The number of changed values, the first of them, and the reasons."
    )

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(state="done") | Q(found__isnull=False, finished_at__isnull=False),
                name="recheck_done_has_found",
            ),
        ]

    def __str__(self) -> str:
        return f"recheck of report {self.report_id}"
