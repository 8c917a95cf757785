"""Frozen analysis plans."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models import Study
from studies.statements import clock


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
