"""What a study asks besides the choice, and what annotators said to it."""

from django.db import models
from django.db.models import Q

from annotation.models import Annotation
from studies.models import Study
from studies.statements import clock


class ItemFlag(models.TextChoices):
    """What can be wrong with an item."""

    SENSE = "sense", "does not make sense"
    SAME = "same", "both responses are the same"
    OFFENSIVE = "offensive", "offensive"
    KNOWN = "known", "I know this person"
    OTHER = "other", "something else"


class RemarkQuestions(models.Model):
    """Which remarks the annotators of a study can make."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="remark_questions")
    flags = models.BooleanField(default=False)
    either = models.BooleanField(default=False)
    others = models.BooleanField(default=False)
    results = models.BooleanField(default=False, help_text="people see their numbers at the end")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "remark questions"

    def __str__(self) -> str:
        return f"{self.study_id}"


class Remarks(models.Model):
    """The remarks of a revision of an answer. A row never changes."""

    answer = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="remarks")
    revision = models.PositiveIntegerField()
    flag = models.CharField(max_length=10, choices=ItemFlag, blank=True)
    either = models.BooleanField(
        null=True, blank=True, help_text="whether the other response would do; null if not asked"
    )
    others = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="of 100 others, how many choose the same"
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["answer", "revision"]
        verbose_name_plural = "remarks"
        constraints = [
            models.UniqueConstraint(
                fields=["answer", "revision"], name="remarks_once_per_revision"
            ),
            models.CheckConstraint(
                condition=Q(others=None) | Q(others__range=(0, 100)), name="remarks_others"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.answer_id}, revision {self.revision}"
