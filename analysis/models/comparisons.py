"""Items with the verdicts of annotators and of one run, kept so that lists can be filtered fast."""

from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.items import Choice
from studies.models.studies import Study


class Comparison(Job):
    """The items of a study compared with one run, or without a run if none has judged.

    Rows are written under the next `edition` and shown once all of them are stored, so that a list
    is complete at any time. Everything here can be computed again.
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
    """One item of a comparison. `item` is an id without a constraint: a copy holds nothing back."""

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
            # All figures of a page are counted from this index alone.
            models.Index(
                fields=["comparison", "edition", "pattern", "people_band", "judge_band"],
                name="compared_item_counts",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.comparison_id}: {self.key}"
