"""Watched sets, and the looks at them."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from judging.models import JudgeRun
from studies.models.keys import public_id
from studies.models.studies import Study
from studies.statements import clock


class WatchedSet(models.Model):
    """Items of a study with a judge's answers to them, frozen to be compared with later ones."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="watched_sets")
    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="watched_sets")
    used_in = models.ForeignKey(
        Study,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Whose items are compared with the set's; empty: later ones of the own study.",
    )
    frozen = models.JSONField(
        help_text="The judge, how it asks, the items with its answers, and what people answered."
    )
    at_once = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1), MaxValueValidator(5)],
        help_text="How often the judge is asked at first, to see how much its answers vary.",
    )
    every_days = models.PositiveSmallIntegerField(
        default=0, help_text="Days between looks; 0: only when somebody asks for one."
    )
    next_at = models.DateTimeField(null=True, blank=True)
    sends_mail = models.BooleanField(default=False)
    result = models.JSONField(null=True, help_text="What the looks show together.")
    read = models.JSONField(default=list, help_text="Moves that a person has marked as read.")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True
    )
    created_at = clock.MomentField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text="When watching was stopped.")

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(at_once__range=(1, 5)), name="watched_set_at_once"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: watched run {self.run_id}"

    @property
    def items(self) -> int:
        """The number of frozen items."""
        return len(self.frozen["items"])


class LookState(models.TextChoices):
    ASKING = "asking", "being asked"
    DONE = "done", "done"
    FAILED = "failed", "failed"


class Look(models.Model):
    """One time that a set's judge was asked again; the first ones are the baseline."""

    State = LookState

    watched = models.ForeignKey(WatchedSet, on_delete=models.CASCADE, related_name="looks")
    number = models.PositiveIntegerField()
    is_baseline = models.BooleanField(default=False)
    round = models.PositiveIntegerField(default=0, help_text="Of the run; 0 if nothing was asked.")
    state = models.CharField(max_length=10, choices=LookState, default=LookState.ASKING)
    message = models.TextField(blank=True, help_text="Why it failed, or what it left out.")
    numbers = models.JSONField(default=dict, help_text="What is compared, without texts.")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        help_text="Empty: by the schedule, or by a command.",
    )
    created_at = clock.MomentField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["watched", "number"]
        constraints = [
            models.UniqueConstraint(fields=["watched", "number"], name="look_once"),
            models.UniqueConstraint(
                fields=["watched"], condition=Q(state="asking"), name="look_one_at_a_time"
            ),
            models.CheckConstraint(condition=Q(state__in=LookState.values), name="look_state"),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(message=""), name="look_failure_says_why"
            ),
        ]

    def __str__(self) -> str:
        return f"look {self.number} at set {self.watched_id}"
