"""Studies in which others predict the own answers of the annotators of another study."""

from django.db import models
from django.db.models import F, Q

from studies.models import Study
from studies.statements import clock


class LinkedStudy(models.Model):
    """`study` has personas and labels of annotators of `first`, chosen by `rule`."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="linked_from")
    first = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="linked_studies")
    rule = models.JSONField(
        help_text="{persons, items_per_person, examples, seed}, and what there was to choose from."
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "linked studies"
        constraints = [
            models.CheckConstraint(condition=~Q(study=F("first")), name="linked_study_is_another")
        ]

    def __str__(self) -> str:
        return f"{self.study_id} from {self.first_id}"
