"""Adjudication: which items go to experts, who they are, and what they decided."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from studies.models import Choice, Item, Side, Study
from studies.models.keys import public_id
from studies.statements import clock

MOST_EXPERTS = 9  # for one item


class Adjudication(models.Model):
    """Which items of a study are split, and how many experts decide each."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="adjudication")
    no_majority = models.BooleanField("No response has a majority", default=True)
    below = models.PositiveSmallIntegerField(
        "The largest share is below, in percent",
        null=True,
        blank=True,
        validators=[MinValueValidator(34), MaxValueValidator(100)],
    )
    sets = models.JSONField(default=list, help_text="Names of sets of items that extras have.")
    per_item = models.PositiveSmallIntegerField(
        "Experts for each item",
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_EXPERTS)],
    )
    closed_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(per_item__range=(1, MOST_EXPERTS)), name="adjudication_per_item"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}"


class Expert(models.Model):
    """Somebody who decides split items: by an account, by a link, or in an imported file.

    The key of a link is shown once and never stored. `public_id` finds the row, `key_hash` checks
    the key.
    """

    class Way(models.TextChoices):
        ACCOUNT = "account", "account"
        LINK = "link", "link"
        FILE = "file", "file"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="experts")
    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    name = models.CharField(max_length=120)
    way = models.CharField(max_length=8, choices=Way, default=Way.LINK)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    key_hash = models.CharField(max_length=64, blank=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    ended_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="expert_once_per_study"),
            models.CheckConstraint(condition=~Q(name=""), name="expert_has_name"),
            models.CheckConstraint(
                condition=Q(way__in=["account", "link", "file"]), name="expert_way"
            ),
        ]

    def __str__(self) -> str:
        return f"expert {self.public_id}"

    @property
    def may_decide(self) -> bool:
        return self.ended_at is None and bool(self.user_id or self.key_hash)


class SplitItem(models.Model):
    """An item that was sent to experts, and why."""

    class Reason(models.TextChoices):
        NO_MAJORITY = "no_majority", "no majority"
        SHARE = "share", "small majority"
        SET = "set", "in a chosen set"
        FILE = "file", "decided in a file"

    item = models.OneToOneField(Item, on_delete=models.PROTECT, related_name="split_item")
    reason = models.CharField(max_length=12, choices=Reason)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(reason__in=["no_majority", "share", "set", "file"]),
                name="split_item_reason",
            ),
        ]

    def __str__(self) -> str:
        return f"item {self.item_id}: {self.reason}"


class ExpertDecision(models.Model):
    """An item of an expert, and what they decided; without a choice, they have not yet."""

    expert = models.ForeignKey(Expert, on_delete=models.PROTECT, related_name="decisions")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="expert_decisions")
    position = models.PositiveIntegerField()
    shown_first = models.CharField(max_length=2, choices=Side, blank=True)
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    changes = models.PositiveIntegerField(default=0, help_text="How often it was changed.")
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["expert", "position"]
        constraints = [
            models.UniqueConstraint(fields=["expert", "item"], name="decision_once_per_item"),
            models.UniqueConstraint(fields=["expert", "position"], name="decision_position"),
            models.CheckConstraint(
                condition=Q(choice="", certainty=None, decided_at=None)
                | Q(choice__in=Choice.values, decided_at__isnull=False),
                name="decision_complete_or_open",
            ),
            models.CheckConstraint(
                condition=Q(certainty=None) | Q(certainty__range=(1, 100)),
                name="decision_certainty",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.expert_id}: item {self.item_id}"
