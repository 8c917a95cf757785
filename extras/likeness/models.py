"""Annotators of a study compared with its judges."""

from django.db import models

from studies.jobs.models import Job
from studies.models.studies import Study


class ErrorComparison(Job):
    """The annotators of a study compared with its judges. Can be recomputed at any time."""

    failure = "The errors could not be compared"
    unharmed = "Your answers are unchanged."

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="error_comparison")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="Of what was compared.")
    rule = models.JSONField(default=dict, help_text="When an annotator is flagged.")
    annotators = models.JSONField(default=list, help_text="One entry for each, flagged ones first.")
    striking = models.JSONField(default=list, help_text="The pseudonyms of flagged annotators.")

    def __str__(self) -> str:
        return f"{self.study_id}: errors of annotators compared with judges"

    @classmethod
    def striking_in(cls, study: Study) -> list[str]:
        """The annotators whose errors resembled a judge's when they were last compared."""
        return cls.objects.filter(study=study).values_list("striking", flat=True).first() or []
