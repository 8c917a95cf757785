"""What a study asks next to the choice, and what annotators answered to it."""

from django.db import models
from django.db.models import Q

from annotation.models import Annotation
from studies.models import Study
from studies.statements import clock

LONGEST_REASON = 300
MOST_CRITERIA = 6


class Strength(models.IntegerChoices):
    """How strong a preference is."""

    SLIGHT = 1, "slightly"
    CLEAR = 2, "clearly"
    STRONG = 3, "strongly"


class ScoreScale(models.IntegerChoices):
    """The highest score of a response; the lowest is 1."""

    NONE = 0, "no scores"
    RIGHT = 2, "right or wrong"
    FIVE = 5, "1 to 5"
    SEVEN = 7, "1 to 7"
    TEN = 10, "1 to 10"


class ReasonAsked(models.TextChoices):
    """Whether annotators are asked for a reason in one line."""

    NO = "no", "no"
    OPTIONAL = "optional", "yes, optional"
    REQUIRED = "required", "yes, required"


class GradeQuestions(models.Model):
    """What a study asks at each item next to the choice; the criteria are those of the study."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="grade_questions")
    strength = models.BooleanField(default=False)
    scale = models.PositiveSmallIntegerField(choices=ScoreScale, default=ScoreScale.NONE)
    criteria = models.BooleanField(default=False)
    reason = models.CharField(max_length=10, choices=ReasonAsked, default=ReasonAsked.NO)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "grade questions"
        constraints = [
            models.CheckConstraint(
                condition=Q(scale__in=[0, 2, 5, 7, 10]), name="grade_questions_scale"
            ),
            models.CheckConstraint(
                condition=Q(reason__in=["no", "optional", "required"]),
                name="grade_questions_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}"


class Grades(models.Model):
    """What was answered next to the choice, for each revision of an answer.

    A row is stored with its revision and never changes, but a reason is deleted when its annotator
    withdraws. Scores and criteria are in content terms.
    """

    answer = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="grades")
    revision = models.PositiveIntegerField()
    strength = models.PositiveSmallIntegerField(null=True, blank=True, choices=Strength)
    score_1 = models.PositiveSmallIntegerField(null=True, blank=True)
    score_2 = models.PositiveSmallIntegerField(null=True, blank=True)
    criteria = models.JSONField(
        default=dict, blank=True, help_text="{key of a criterion: r1, r2 or tie}"
    )
    reason = models.CharField(max_length=LONGEST_REASON, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["answer", "revision"]
        verbose_name_plural = "grades"
        constraints = [
            models.UniqueConstraint(fields=["answer", "revision"], name="grades_once_per_revision"),
            models.CheckConstraint(
                condition=Q(strength=None) | Q(strength__range=(1, 3)), name="grades_strength"
            ),
            models.CheckConstraint(
                condition=Q(score_1=None, score_2=None)
                | Q(score_1__range=(1, 10), score_2__range=(1, 10)),
                name="grades_scores",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.answer_id}, revision {self.revision}"
