"""What was removed from studies because a person no longer wants to be shown."""

from django.db import models

from studies.models.studies import Study
from studies.statements import clock


class RemovedPerson(models.Model):
    """Personas of one person left a study with all that was answered about them.

    Nothing says who it was. Reports that were built before use the answers, so they are superseded.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="removed_people")
    own_answers = models.PositiveIntegerField(help_text="Labels that were removed.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "removed people"

    def __str__(self) -> str:
        return f"{self.study_id}: {self.own_answers} own answers"
