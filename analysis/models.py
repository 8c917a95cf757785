"""Reports, exports and comparisons of items."""

from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.items import Choice
from studies.models.keys import public_id
from studies.models.studies import Study


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
    made_for = models.CharField(
        max_length=40, blank=True, help_text="What an extra offers it for; usually empty."
    )
    report = models.ForeignKey(
        Report,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="The report in a bundle; empty: the newest.",
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


class Comparison(Job):
    """The items of a study compared with one run, or without one if there are no judgments.

    Rows are written under the next `edition` and shown once all are stored, so that a list is
    always complete. Everything here can be recomputed.
    """

    failure = "The items could not be compared"
    unharmed = "Your answers are unchanged."

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="comparisons")
    run = models.ForeignKey(
        "judging.JudgeRun",
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="comparisons",
    )
    edition = models.PositiveIntegerField(default=0, help_text="Of the rows to show; 0 is none.")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="Of what was compared.")
    items = models.PositiveIntegerField(default=0)
    first_row = models.BigIntegerField(default=0, help_text="Its rows have ids from this …")
    last_row = models.BigIntegerField(default=0, help_text="… to this, between those of others.")
    choices = models.JSONField(default=dict, help_text="Topics, sources and features to filter by.")

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.UniqueConstraint(fields=["study", "run"], name="comparison_once_per_run"),
            models.UniqueConstraint(
                fields=["study"], condition=Q(run=None), name="comparison_once_without_run"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: items compared with run {self.run_id}"


class ComparedItem(models.Model):
    """One item of a comparison. `item` has no constraint, so that items can be deleted."""

    comparison = models.ForeignKey(
        Comparison, on_delete=models.CASCADE, related_name="rows", db_index=False
    )
    edition = models.PositiveIntegerField()
    item = models.BigIntegerField()
    key = models.CharField(max_length=120)
    topic = models.CharField(max_length=120, blank=True)
    source_1 = models.CharField(max_length=200, blank=True, help_text="Who wrote response 1.")
    source_2 = models.CharField(max_length=200, blank=True)
    features = models.TextField(blank=True, help_text="A mark for each feature of the persona.")

    answers = models.PositiveIntegerField(help_text="Of annotators, that count.")
    people = models.CharField(
        max_length=3, choices=Choice, blank=True, help_text="The majority's answer."
    )
    people_share = models.FloatField(null=True)
    people_certainty = models.FloatField(null=True)
    judge = models.CharField(
        max_length=3, choices=Choice, blank=True, help_text="The run's verdict."
    )
    judge_certainty = models.FloatField(null=True)
    pattern = models.PositiveSmallIntegerField(help_text="Facts of `analysis.disagreements`.")
    people_band = models.SmallIntegerField(help_text="The certainty in steps of five; -1: none.")
    judge_band = models.SmallIntegerField(help_text="The certainty in steps of five; -1: none.")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["comparison", "edition", "key"], name="compared_item_once"
            ),
            models.CheckConstraint(condition=~Q(key=""), name="compared_item_has_key"),
        ]
        indexes = [
            # This index alone gives all the figures of a page.
            models.Index(
                fields=["comparison", "edition", "pattern", "people_band", "judge_band"],
                name="compared_item_counts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.comparison_id}: {self.key}"
