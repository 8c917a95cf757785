"""Forecasts of what a study can show, and comparisons watched while people answer."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.studies import Study
from studies.statements import clock


class PowerForecast(Job):
    """The latest forecast of a study. The previous result is kept until it is done."""

    failure = "The forecast could not be computed"
    unharmed = "The study is unchanged."

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="power_forecast")
    assumptions = models.JSONField(default=dict, help_text="What the job simulates.")
    result = models.JSONField(null=True, help_text="Designs and their outcomes; null before any.")

    def __str__(self) -> str:
        return f"{self.study_id}: forecast"


class WatchedComparison(models.Model):
    """A comparison that was fixed before any answer and may be watched while people answer."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="watched")
    run = models.ForeignKey("judging.JudgeRun", on_delete=models.CASCADE, related_name="watched")
    margin = models.FloatField(help_text="Of equivalence, when the comparison was fixed.")
    fixed_at = clock.MomentField(auto_now_add=True)
    fixed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(margin__gt=0) & Q(margin__lt=1), name="watched_margin"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: watched with run {self.run_id}"
