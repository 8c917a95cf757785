from django.db import models

from annotation.models import ProlificStudy


class ProlificCosts(models.Model):
    """Prolific's own figures on a study, as last read, in minor units."""

    prolific_study = models.OneToOneField(
        ProlificStudy, on_delete=models.CASCADE, related_name="costs"
    )
    projected = models.JSONField(default=dict, help_text="Once every place is filled.")
    so_far = models.JSONField(default=dict)
    read_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "prolific costs"

    def __str__(self) -> str:
        return f"costs {self.pk}"
