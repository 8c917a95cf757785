"""Arguments for the responses of items, which judges write before anybody sees them."""

from django.db import models
from django.db.models import Q

from judging.models import AskedText, Judge
from studies.jobs.models import Job
from studies.models import Side, Study, public_id


class Arm(models.TextChoices):
    """What is shown after the first answer to an item."""

    NONE = "none", "no advice"
    CONSULTANCY = "consultancy", "one model argues for a drawn response"
    DEBATE = "debate", "two models argue, one for each response"


class ArgumentJob(Job):
    """A job that has arguments written about drawn items of a study.

    `rounds` arguments for each side, of at most `words` words. Each request counts towards
    `budget`. Both judges argue equally often for the right response, if there are two.
    """

    failure = "Writing the arguments failed"
    unharmed = "Arguments that had arrived are kept."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    judge = models.ForeignKey(Judge, null=True, on_delete=models.SET_NULL, related_name="+")
    judge_name = models.CharField(max_length=100)
    second = models.ForeignKey(Judge, null=True, on_delete=models.SET_NULL, related_name="+")
    second_name = models.CharField(max_length=100, blank=True)
    prompt_sha256 = models.CharField(max_length=64, help_text="Of the words around the texts.")
    rounds = models.PositiveSmallIntegerField()
    words = models.PositiveSmallIntegerField()
    seed = models.PositiveBigIntegerField()
    budget = models.DecimalField(max_digits=12, decimal_places=4, null=True, blank=True)

    class Meta(Job.Meta):
        pass

    def __str__(self) -> str:
        return f"arguments about {self.study_id} by {self.judge_name}"


class Argument(AskedText):
    """One argument for a response; it never changes once it is written.

    Items are named by key, so that they can still be edited or replaced: an argument about other
    content than `item_hash` is not shown to anybody. In a debate, `speaker` is 1 for the side that
    speaks first in each round.
    """

    job = models.ForeignKey(ArgumentJob, on_delete=models.CASCADE, related_name="arguments")
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
