"""Improvements: what a judge learned from people's answers, and one trial on a sealed part."""

from django.db import models
from django.db.models import Q

from judging.models import Campaign, JudgeRun, PromptTemplate
from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob, JobRequest
from studies.models import public_id

LEARN, SEALED = "learn", "sealed"  # the parts
FOLDS = 3  # of the part to learn from, numbered from 1
WHOLE = 0  # instead of a fold: what was learned from the whole part


class LearnedFrom(models.TextChoices):
    """What a wording adds to the usual one."""

    EXAMPLES = "examples", "examples"
    GUIDELINES = "guidelines", "guidelines"
    RULES = "rules", "rules"
    FIELDS = "fields", "persona fields"
    TOGETHER = "together", "all together"


class Improvement(AskingJob):
    """A search for better wordings of a run's question. `judge` is the one that writes guidelines.

    With `annotator`, it learns from this person's answers alone, and predicts their others.

    `parts` are the items as they were split, each with its part, its fold and the right answer.
    `opened_at` is when wordings were tried on the sealed part: once.
    """

    failure = "The improvement could not be carried out"
    unharmed = "Wordings and replies received so far are kept."

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="+")
    annotator = models.CharField(
        max_length=64, blank=True, default="", help_text="Pseudonym; empty: all people."
    )
    kinds = models.JSONField(help_text="What is learned.")
    most = models.PositiveSmallIntegerField(help_text="Wordings that are tried at most.")
    gain = models.FloatField(help_text="The gain that the trial should find, as a share.")
    share = models.FloatField(help_text="Of the personas, those that are sealed.")
    items = models.PositiveIntegerField(help_text="Items on which wordings are judged at first.")
    parts = models.JSONField(help_text="The items and their answers when they were split.")
    learn_sha256 = models.CharField(max_length=64, help_text="Of the answers to learn from.")
    sealed_sha256 = models.CharField(max_length=64, help_text="Of the sealed answers.")
    campaign = models.ForeignKey(
        Campaign,
        on_delete=models.SET_NULL,
        null=True,
        related_name="+",
        help_text="Holds the budget of the runs.",
    )
    opened_at = models.DateTimeField(null=True, blank=True)
    opening = models.PositiveSmallIntegerField(
        default=0, help_text="How often the sealed part has been opened for this judge by then."
    )
    results = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return f"{self.study_id}: improvement of run {self.run_id}"


class LearnedWording(models.Model):
    """A wording: that of a fold was learned from the other folds, and is judged on it."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    improvement = models.ForeignKey(Improvement, on_delete=models.CASCADE, related_name="wordings")
    kind = models.CharField(max_length=10, choices=LearnedFrom)
    fold = models.PositiveSmallIntegerField(help_text="0: learned from the whole part.")
    wording = models.ForeignKey(PromptTemplate, on_delete=models.CASCADE, related_name="+")
    run = models.ForeignKey(JudgeRun, null=True, on_delete=models.SET_NULL, related_name="+")
    is_named = models.BooleanField(default=False, help_text="To be tried on the sealed part.")

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["improvement", "kind", "fold"], name="learned_wording_once"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=LearnedFrom.values), name="learned_wording_kind"
            ),
            models.CheckConstraint(
                condition=Q(is_named=False) | Q(fold=WHOLE), name="learned_wording_named_whole"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.improvement_id}: {self.kind}"


class GuidelineRequestState(models.TextChoices):
    WAITING = WAITING, "not yet asked"
    SENT = SENT, "being asked"
    WRITTEN = WRITTEN, "answered"
    FAILED = FAILED, "no usable reply"


class GuidelineRequest(JobRequest):
    """The question for guidelines about disagreements outside one fold, or about all of them."""

    State = GuidelineRequestState

    job = models.ForeignKey(Improvement, on_delete=models.CASCADE, related_name="requests")
    state = models.CharField(
        max_length=10, choices=GuidelineRequestState, default=GuidelineRequestState.WAITING
    )
    fold = models.PositiveSmallIntegerField()
    items = models.JSONField(help_text="Ids of the items that are shown.")
    guidelines = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["job", "fold"], name="guidelines_asked_once"),
            models.CheckConstraint(
                condition=Q(state__in=GuidelineRequestState.values), name="guideline_request_state"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.state}"
