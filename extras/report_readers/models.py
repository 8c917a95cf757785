"""Links that open a report without an account, rechecks, and reports about several studies."""

from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q

from analysis.models import Export, Report
from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.statements import clock


class ShareLink(models.Model):
    """A link that opens one report for anyone who has it, without rows about annotators.

    The key is shown once and never stored. `public_id` finds the row, `key_hash` checks the key.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="share_links")
    key_hash = models.CharField(max_length=64, editable=False)
    note = models.CharField(max_length=120, blank=True, help_text="Who gets it.")
    is_blind = models.BooleanField(
        default=False, help_text="For blind review: shows no names until an owner reveals them."
    )
    revealed_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    opened = models.PositiveIntegerField(default=0, help_text="How often it was opened.")
    last_opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        db_table = "share_links_sharelink"
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(key_hash=""), name="share_link_has_key"),
        ]

    def __str__(self) -> str:
        return f"share link of report {self.report_id}"

    @property
    def is_valid(self) -> bool:
        """Whether the link still opens the report."""
        return self.revoked_at is None and clock.now() < self.expires_at

    @property
    def hides_names(self) -> bool:
        """Whether it shows the page without names."""
        return self.is_blind and self.revealed_at is None

    @cached_property
    def bundle(self) -> Export | None:
        """Files that it offers next to the report: the newest export made for it."""
        return Export.objects.filter(made_for=self.public_id).order_by("-pk").first()


class StudiesReport(Job):
    """A folder with a report of each study and tables of all; its files are in the storage."""

    failure = "The report could not be built"
    unharmed = "Your studies are unchanged."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    slugs = models.JSONField(default=list, help_text="Short names of the studies, oldest first.")
    is_pooled = models.BooleanField(default=False, help_text="With one report of all answers.")
    content_security_policy = models.TextField(blank=True)

    class Meta(Job.Meta):
        db_table = "several_studies_studiesreport"

    def __str__(self) -> str:
        return f"report {self.public_id} about several studies"


class Recheck(Job):
    """A recomputation of a report, and its changes."""

    failure = "The report could not be computed again"
    unharmed = "The report and your answers are unchanged."

    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="rechecks")
    found = models.JSONField(
        null=True, help_text="The number of changed values, the first of them, and the reasons."
    )

    class Meta(Job.Meta):
        db_table = "verification_recheck"
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(state="done") | Q(found__isnull=False, finished_at__isnull=False),
                name="recheck_done_has_found",
            ),
        ]

    def __str__(self) -> str:
        return f"recheck of report {self.report_id}"
