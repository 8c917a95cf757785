"""A live arena: its limits, its systems and questions, and the pairs that it has had written."""

from datetime import timedelta

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q

from judging.models import Judge
from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob, JobRequest
from studies.models import Item, Persona
from studies.statements import clock

LONGEST = 8_000  # characters of a response, as in every item
SLOW = timedelta(minutes=1)


class Arena(AskingJob):
    """The arena of a study, and the job that has its pairs written; `budget` is for all of them.

    `judge` stays empty: the arena has several systems.
    """

    failure = "Writing responses failed"
    unharmed = "Responses that had arrived are kept."

    is_live = models.BooleanField(default=False)
    opened_at = models.DateTimeField(null=True, blank=True)
    why_stopped = models.TextField(blank=True, help_text="Empty unless it stopped by itself.")
    stock = models.PositiveSmallIntegerField(
        default=20, validators=[MinValueValidator(1), MaxValueValidator(500)]
    )
    per_hour = models.PositiveIntegerField(
        default=600, validators=[MinValueValidator(1), MaxValueValidator(100_000)]
    )
    longest = models.PositiveIntegerField(
        default=3_000, validators=[MinValueValidator(100), MaxValueValidator(LONGEST)]
    )
    forbidden = models.TextField(blank=True, help_text="Phrases, one a line.")
    show_persona = models.BooleanField(default=False)

    class Meta(AskingJob.Meta):
        constraints = [
            *AskingJob.Meta.constraints,
            models.UniqueConstraint(fields=["study"], name="arena_once_per_study"),
            models.CheckConstraint(
                condition=Q(is_live=False) | Q(budget__gt=0), name="live_arena_has_budget"
            ),
        ]

    def __str__(self) -> str:
        return f"arena of {self.study_id}"


class ArenaSystem(models.Model):
    """A judge that writes responses, under the name that items have for it."""

    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="systems")
    judge = models.ForeignKey(Judge, null=True, on_delete=models.SET_NULL, related_name="+")
    name = models.CharField(max_length=120)
    is_out = models.BooleanField(default=False, help_text="It gets no further pairs.")
    rests_until = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True, help_text="Why it rests.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.UniqueConstraint(fields=["arena", "name"], name="arena_system_once")]

    def __str__(self) -> str:
        return self.name


class ArenaQuestion(models.Model):
    """What a persona asks. `key` is the same for the same persona and question."""

    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="questions")
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=64)
    question = models.TextField()
    topic = models.CharField(max_length=120, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [models.UniqueConstraint(fields=["arena", "key"], name="arena_question_once")]

    def __str__(self) -> str:
        return self.question[:60]


class ArenaPair(models.Model):
    """Two systems that answer a question: `first` writes response 1 of the item."""

    class State(models.TextChoices):
        OPEN = "open", "being written"
        STORED = "stored", "an item"
        DROPPED = "dropped", "dropped"

    arena = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="pairs")
    # Without one, its person was removed from the study.
    question = models.ForeignKey(
        ArenaQuestion, null=True, on_delete=models.SET_NULL, related_name="pairs"
    )
    first = models.ForeignKey(ArenaSystem, on_delete=models.CASCADE, related_name="+")
    second = models.ForeignKey(ArenaSystem, on_delete=models.CASCADE, related_name="+")
    chance = models.FloatField(help_text="The probability with which these two were drawn.")
    item = models.OneToOneField(
        Item, null=True, blank=True, on_delete=models.SET_NULL, related_name="arena_pair"
    )
    state = models.CharField(max_length=10, choices=State, default=State.OPEN)
    problem = models.TextField(blank=True, help_text="Why it was dropped.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "pairs of a live arena"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["open", "stored", "dropped"]), name="arena_pair_state"
            ),
            models.CheckConstraint(condition=~Q(first=F("second")), name="arena_pair_of_two"),
        ]
        indexes = [models.Index(fields=["arena", "state"], name="arena_pairs_by_state")]

    def __str__(self) -> str:
        return f"pair {self.pk}"


class ArenaAnswer(JobRequest):
    """The request for one response of a pair, its cost, and the text."""

    class State(models.TextChoices):
        WAITING = WAITING, "not yet asked"
        SENT = SENT, "being asked"
        WRITTEN = WRITTEN, "written"
        FAILED = FAILED, "no usable response"

    job = models.ForeignKey(Arena, on_delete=models.CASCADE, related_name="answers")
    pair = models.ForeignKey(ArenaPair, on_delete=models.CASCADE, related_name="answers")
    system = models.ForeignKey(ArenaSystem, on_delete=models.CASCADE, related_name="answers")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    text = models.TextField(blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["pair", "system"], name="arena_answer_once"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "sent", "written", "failed"]),
                name="arena_answer_state",
            ),
        ]
        indexes = [models.Index(fields=["job", "state"], name="arena_answers_by_state")]

    def __str__(self) -> str:
        return f"{self.system_id} in {self.pair_id}: {self.state}"
