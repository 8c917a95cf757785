from django.db import models

from annotation.models import ProlificStudy, ProlificSubmission


class ProlificCosts(models.Model):
    """Prolific's own figures on a study, as last read, in minor units."""

    prolific_study = models.OneToOneField(
        ProlificStudy, on_delete=models.CASCADE, related_name="costs"
    )
    projected = models.JSONField(default=dict, help_text="Once every place is filled.")
    so_far = models.JSONField(default=dict)
    read_at = models.DateTimeField()

    class Meta:
        db_table = "prolific_ledger_prolificcosts"
        verbose_name_plural = "prolific costs"

    def __str__(self) -> str:
        return f"costs {self.pk}"


class StatedDemographics(models.Model):
    """What Prolific's export says about the person of a submission, by column."""

    submission = models.OneToOneField(
        ProlificSubmission, on_delete=models.CASCADE, related_name="stated_demographics"
    )
    answers = models.JSONField(default=dict)

    class Meta:
        db_table = "prolific_demographics_stateddemographics"
        verbose_name_plural = "demographics on Prolific"

    def __str__(self) -> str:
        return f"demographics {self.pk}"
