from django.db import models

from annotation.models import ProlificSubmission


class StatedDemographics(models.Model):
    """What Prolific's export says about the person of a submission, by column."""

    submission = models.OneToOneField(
        ProlificSubmission, on_delete=models.CASCADE, related_name="stated_demographics"
    )
    answers = models.JSONField(default=dict)

    class Meta:
        verbose_name_plural = "demographics on Prolific"

    def __str__(self) -> str:
        return f"demographics {self.pk}"
