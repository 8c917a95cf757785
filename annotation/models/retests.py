"""Second visits: annotators answer some of their items again, to see how often they repeat."""

from django.db import models
from django.db.models import Q

from annotation.models.annotators import Annotator
from studies.models import Choice, Item, Side
from studies.models.keys import random_id
from studies.statements import clock


def visit_code() -> str:
    return random_id(16)


class RetestVisit(models.Model):
    """A second visit that an annotator may make from `due_at` on, by a link of their own."""

    annotator = models.OneToOneField(
        Annotator, on_delete=models.PROTECT, related_name="retest_visit"
    )
    code = models.CharField(max_length=32, unique=True, default=visit_code, editable=False)
    due_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.annotator_id}, due {self.due_at:%Y-%m-%d}"

    @property
    def is_due(self) -> bool:
        return self.due_at <= clock.now()


class RetestAnswer(models.Model):
    """An item of a second visit; without a choice until it is answered. It never changes then."""

    visit = models.ForeignKey(RetestVisit, on_delete=models.PROTECT, related_name="answers")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="retest_answers")
    position = models.PositiveIntegerField()
    shown_first = models.CharField(max_length=2, choices=Side)
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    active_ms = models.PositiveBigIntegerField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["visit", "position"]
        constraints = [
            models.UniqueConstraint(fields=["visit", "item"], name="retest_item_once"),
            models.UniqueConstraint(fields=["visit", "position"], name="retest_position_once"),
            models.CheckConstraint(
                condition=Q(choice="", certainty=None, answered_at=None)
                | Q(choice__in=["r1", "r2", "tie"], answered_at__isnull=False),
                name="retest_answered_or_open",
            ),
            models.CheckConstraint(
                condition=Q(certainty=None) | Q(certainty__range=(1, 100)),
                name="retest_certainty_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.visit_id}, {self.position}: {self.choice or 'open'}"

    def as_content(self, displayed: str) -> str:
        """Convert a choice as displayed to content terms: a, b or tie."""
        second = Side.R2 if self.shown_first == Side.R1 else Side.R1
        return {"a": self.shown_first, "b": second, "tie": Choice.TIE}[displayed]
