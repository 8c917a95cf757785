"""Arguments for the responses of items, which judges write before anybody sees them."""

from django.db import models
from django.db.models import Q

from judging.models import Judge
from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob, JobRequest
from studies.models import Side, Study


class Arm(models.TextChoices):
    """What is shown after the first answer to an item."""

    NONE = "none", "no advice"
    CONSULTANCY = "consultancy", "one model argues for a drawn response"
    DEBATE = "debate", "two models argue, one for each response"


class ArgumentJob(AskingJob):
    """A job that has arguments written about drawn items of a study.

    `rounds` arguments for each side, of at most `words` words. Each request counts towards
    `budget`. Both judges argue equally often for the right response, if there are two.
    """

    failure = "Writing the arguments failed"
    unharmed = "Arguments that had arrived are kept."

    second = models.ForeignKey(Judge, null=True, on_delete=models.SET_NULL, related_name="+")
    second_name = models.CharField(max_length=100, blank=True)
    rounds = models.PositiveSmallIntegerField()
    words = models.PositiveSmallIntegerField()
    seed = models.PositiveBigIntegerField()

    class Meta(AskingJob.Meta):
        pass

    def __str__(self) -> str:
        return f"arguments about {self.study_id} by {self.judge_name}"


class ArgumentState(models.TextChoices):
    WAITING = WAITING, "not yet asked"
    SENT = SENT, "being asked"
    WRITTEN = WRITTEN, "written"
    FAILED = FAILED, "no usable reply"


class Argument(JobRequest):
    """One argument for a response; it never changes once it is written.

    Items are named by key, so that they can still be edited or replaced: an argument about other
    content than `item_hash` is not shown to anybody. In a debate, `speaker` is 1 for the side that
    speaks first in each round.
    """

    State = ArgumentState

    job = models.ForeignKey(ArgumentJob, on_delete=models.CASCADE, related_name="arguments")
    state = models.CharField(max_length=10, choices=ArgumentState, default=ArgumentState.WAITING)
    text = models.TextField(blank=True, help_text="As it was accepted.")
    item_key = models.CharField(max_length=120)
    item_hash = models.CharField(max_length=64)
    arm = models.CharField(max_length=11, choices=Arm)
    side = models.CharField(max_length=2, choices=Side)
    speaker = models.PositiveSmallIntegerField()
    round = models.PositiveSmallIntegerField()
    by_second = models.BooleanField(default=False, help_text="Whether the second judge writes it.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["job", "item_key", "arm", "side", "round"], name="argument_once"
            ),
            models.CheckConstraint(condition=Q(arm__in=Arm.values), name="argument_arm"),
            models.CheckConstraint(condition=Q(side__in=Side.values), name="argument_side"),
        ]
        indexes = [models.Index(fields=["job", "state", "round"], name="arguments_by_state")]

    def __str__(self) -> str:
        return f"{self.item_key}, {self.arm}, {self.side}, {self.round}: {self.state}"


class BeliefSource(models.Model):
    """The study in which the people of a study with arms answered for themselves before."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="+")
    beliefs = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")

    def __str__(self) -> str:
        return f"{self.beliefs_id} before {self.study_id}"
