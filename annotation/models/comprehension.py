"""Comprehension questions on the instructions, and the annotators' answers."""

from django.db import models
from django.db.models import Q

from annotation.models.annotators import Annotator
from studies.models import Study
from studies.statements import clock


class ComprehensionQuestion(models.Model):
    """A question that shows whether the instructions were clear; asked before the items."""

    study = models.ForeignKey(
        Study, on_delete=models.PROTECT, related_name="comprehension_questions"
    )
    text = models.CharField(max_length=300)
    options = models.JSONField(default=list, help_text="What can be chosen, in order.")
    right = models.PositiveSmallIntegerField(help_text="The right option, counted from 0.")
    pointer = models.CharField(
        max_length=500, help_text="The sentence of the instructions that holds the answer."
    )
    position = models.PositiveSmallIntegerField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "position"], name="comprehension_position_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.text


class ComprehensionAnswer(models.Model):
    """One try at a question; the number of tries is limited."""

    TRIES = 2

    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="comprehension_answers"
    )
    question = models.ForeignKey(
        ComprehensionQuestion, on_delete=models.PROTECT, related_name="answers"
    )
    number = models.PositiveSmallIntegerField(help_text="Which try, counted from 1.")
    option = models.PositiveSmallIntegerField()
    is_right = models.BooleanField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["question", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "question", "number"], name="comprehension_try_once"
            ),
            models.CheckConstraint(condition=Q(number__range=(1, 2)), name="comprehension_tries"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id} at question {self.question_id}, try {self.number}"
