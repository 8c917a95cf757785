"""Searches for rules that explain disagreements, the rules, and what was asked about them."""

from django.db import models
from django.db.models import Q

from judging.models import JudgeRun
from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob, JobRequest
from studies.models import Item, public_id

FIND, TEST = 0, 1  # the halves of the items


class RuleSearch(AskingJob):
    """A search for rules by which people and a run choose differently.

    Without a judge it only uses measured features. `results` are those of the last count; a search
    that is counted again asks nothing again.
    """

    failure = "The rules could not be found"
    unharmed = "Rules and replies received so far are kept."

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="+")
    to_read = models.PositiveIntegerField(default=0, help_text="Items to which a judge applies it.")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="Of what was counted.")
    results = models.JSONField(default=dict, blank=True)

    class Meta(AskingJob.Meta):
        verbose_name_plural = "rule searches"

    def __str__(self) -> str:
        return f"{self.study_id}: rules of run {self.run_id}"


class RuleSource(models.TextChoices):
    MEASURED = "measured", "measured"
    PROPOSED = "proposed", "proposed by a judge"


class FoundRule(models.Model):
    """A rule of a search; `number` is its place in the marks of items, from 1.

    `weight` is its share of the level of all tests, next to the other rules.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    search = models.ForeignKey(RuleSearch, on_delete=models.CASCADE, related_name="rules")
    number = models.PositiveSmallIntegerField()
    source = models.CharField(max_length=10, choices=RuleSource)
    name = models.CharField(max_length=20, blank=True, help_text="Of a measured feature.")
    text = models.CharField(max_length=250)
    weight = models.FloatField(default=1.0)

    class Meta:
        ordering = ["search", "number"]
        constraints = [
            models.UniqueConstraint(fields=["search", "number"], name="rule_number_once"),
            models.CheckConstraint(condition=Q(source__in=RuleSource.values), name="rule_source"),
            models.CheckConstraint(condition=Q(number__gte=1), name="rule_number_positive"),
        ]

    def __str__(self) -> str:
        return self.text


class MarkedItem(models.Model):
    """An item of a search: its half, and one letter for each rule.

    “1” or “2” is the favoured response, “-” neither, and “?” is not known.
    """

    search = models.ForeignKey(RuleSearch, on_delete=models.CASCADE, related_name="marked")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="+")
    half = models.PositiveSmallIntegerField(help_text="0 to find rules, 1 to test them.")
    marks = models.CharField(max_length=60, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["search", "item"], name="item_marked_once"),
            models.CheckConstraint(condition=Q(half__in=[FIND, TEST]), name="marked_item_half"),
        ]

    def __str__(self) -> str:
        return f"{self.item_id}: {self.marks}"


class RuleRequestState(models.TextChoices):
    WAITING = WAITING, "not yet asked"
    SENT = SENT, "being asked"
    WRITTEN = WRITTEN, "answered"
    FAILED = FAILED, "no usable reply"


class RuleRequest(JobRequest):
    """One question of a search: to propose rules about `items`, or to apply all rules to `item`.

    `first` is the response that was shown as A, `letters` the reply for each proposed rule.
    """

    State = RuleRequestState

    job = models.ForeignKey(RuleSearch, on_delete=models.CASCADE, related_name="requests")
    state = models.CharField(
        max_length=10, choices=RuleRequestState, default=RuleRequestState.WAITING
    )
    item = models.ForeignKey(Item, null=True, on_delete=models.CASCADE, related_name="+")
    items = models.JSONField(default=list, help_text="Ids, choices of people and of the judge.")
    rules = models.JSONField(default=list, blank=True)
    letters = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["job", "item"], name="rules_applied_once"),
            models.CheckConstraint(
                condition=Q(state__in=RuleRequestState.values), name="rule_request_state"
            ),
        ]
        indexes = [models.Index(fields=["job", "state"], name="rule_requests_by_state")]

    def __str__(self) -> str:
        return f"{self.job_id}: {self.state}"
