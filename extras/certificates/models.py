"""Certificates of judges that were requested on pages, and the labels they gave."""

from django.db import models

from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.models.studies import Study

BY = [("item", "Every item counts equally"), ("persona", "Every persona counts equally")]


class Certificate(Job):
    """A judge certified on a study's labelled items, or the reason for a refusal."""

    failure = "The certificate could not be computed"
    unharmed = "Your answers are unchanged."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="certificates")
    judge = models.CharField(max_length=120, help_text="A judge or a jury, by its name.")
    run = models.CharField(max_length=64, blank=True, help_text="Of a judge: the run.")
    signal = models.CharField(max_length=120)
    target = models.CharField(max_length=20)
    error = models.FloatField()
    confidence = models.FloatField()
    among = models.PositiveIntegerField(default=1)
    by = models.CharField(
        max_length=10,
        choices=BY,
        default="item",
        help_text="In the share of wrong answers.",
    )
    result = models.JSONField(
        null=True, help_text="The sentence, the tested thresholds and the labels needed."
    )
    passport = models.TextField(blank=True, help_text="The file; empty if nothing was certified.")

    def __str__(self) -> str:
        return f"{self.study_id}: certificate of {self.judge}"


class Labelling(Job):
    """A study divided by a certificate, with a line for every item."""

    failure = "The items could not be labelled"
    unharmed = "Your answers are unchanged."

    certificate = models.OneToOneField(
        Certificate, on_delete=models.CASCADE, related_name="labelling"
    )
    sentence = models.TextField(blank=True)
    lines = models.JSONField(
        default=list, help_text="[item, choice, the judge's answer, signal, reason] of each item."
    )

    def __str__(self) -> str:
        return f"labels of certificate {self.certificate_id}"
