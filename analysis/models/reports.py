"""Analysis plans, reports, rechecks, share links and exports."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.models.studies import Study
from studies.statements import clock


class OwnReportManager(models.Manager["Report"]):
    """The study's own reports, without other views of it."""

    def get_queryset(self) -> models.QuerySet["Report"]:
        return super().get_queryset().filter(view={})


class Report(Job):
    """A report of one study; its files are in the storage."""

    failure = "The report could not be built"
    unharmed = "Your answers are unchanged."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="reports")
    number = models.PositiveIntegerField(help_text="1, 2, … within the study.")
    threshold = models.PositiveSmallIntegerField()
    bootstrap = models.PositiveIntegerField(help_text="Resamples of every kind.")
    seed = models.BigIntegerField()
    view = models.JSONField(
        default=dict,
        blank=True,
        help_text="What it leaves out or reads otherwise; empty for the own report.",
    )

    inputs_hash = models.CharField(max_length=64, blank=True)
    withdrawn_answers = models.PositiveIntegerField(
        null=True, help_text="Answers that had been withdrawn when the report was built."
    )
    read_at = models.DateTimeField(null=True, help_text="When the data were read.")
    software = models.JSONField(default=dict)
    result = models.JSONField(null=True)
    content_security_policy = models.TextField(blank=True)

    objects = models.Manager["Report"]()
    own = OwnReportManager()

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.UniqueConstraint(fields=["study", "number"], name="report_number_once"),
            models.CheckConstraint(condition=Q(threshold__range=(1, 100)), name="report_threshold"),
            models.CheckConstraint(
                condition=~Q(state="done") | Q(result__isnull=False, finished_at__isnull=False),
                name="report_done_has_result",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: report v{self.number} of {self.created_at:%Y-%m-%d}"


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


class AnalysisPlan(models.Model):
    """The frozen plan of a study's analysis, made before or after the data and never changed.

    `seal` is a hash of its content, which reveals changes in the database.
    """

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="analysis_plan")
    content = models.JSONField(help_text="Threshold, margin, analyses, exclusions, judges, seed.")
    answers = models.PositiveIntegerField(help_text="Answers of people at that time.")
    judgments = models.PositiveIntegerField(help_text="Judgments at that time.")
    seal = models.CharField(max_length=64)
    frozen_at = models.DateTimeField()
    frozen_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(seal=""), name="plan_is_sealed")]

    def __str__(self) -> str:
        return f"{self.study_id}: plan {self.seal[:12]}"


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
    bundle = models.OneToOneField(
        "Export",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="share_link",
        help_text="Files that it offers next to the report.",
    )

    class Meta:
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


class Export(Job):
    """One exported file, kept in the storage until it expires.

    The row is kept after the file is deleted, to record what was exported, when and by whom.
    """

    failure = "The export could not be written"
    unharmed = "Nothing was left behind."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exports")
    what = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    licence = models.CharField(max_length=20, blank=True)
    identified = models.BooleanField(default=False, help_text="With platform ids.")
    free_text = models.BooleanField(default=False, help_text="With what people wrote.")
    fresh_pseudonyms = models.BooleanField(
        default=False, help_text="With new names for annotators."
    )

    rows = models.JSONField(default=dict, help_text="Rows by table.")
    filename = models.CharField(max_length=120, blank=True)
    size = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes.")
    sha256 = models.CharField(max_length=64, blank=True)
    data_sha256 = models.CharField(
        max_length=64, blank=True, help_text="Of the tables of a bundle, with or without names."
    )

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(state="done")
                | Q(size__isnull=False, finished_at__isnull=False, expires_at__isnull=False)
                & ~Q(filename="")
                & ~Q(sha256=""),
                name="export_done_has_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: export of {self.what}, {self.created_at:%Y-%m-%d}"

    @property
    def names_people(self) -> bool:
        """Whether only owners of the study can download it."""
        return self.identified or self.free_text
