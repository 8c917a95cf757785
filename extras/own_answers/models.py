"""Profiles that others may see, studies made from them, second visits, and waves."""

import datetime as dt
import math
import secrets

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import ngettext

from annotation.models import Annotator, random_code
from studies.models import Choice, Item, Side, Study
from studies.models.added_settings import AddedSettings
from studies.models.keys import random_id
from studies.statements import clock


def persona_key() -> str:
    """A unique name in the installation that reveals nothing about the annotator."""
    return f"own-{secrets.token_hex(8)}"


class OwnProfile(models.Model):
    """An annotator's decision on being shown to others who judge for them.

    `features` and `text` are exactly what the annotator saw when they agreed; without consent both
    are empty. Every persona with `persona_key`, in any study, is made from this profile.
    """

    annotator = models.OneToOneField(
        Annotator, on_delete=models.PROTECT, related_name="own_profile"
    )
    persona_key = models.CharField(max_length=40, unique=True, default=persona_key, editable=False)
    is_shown = models.BooleanField(default=False)
    features = models.JSONField(default=list, blank=True)
    text = models.TextField(blank=True)
    examples = models.PositiveSmallIntegerField(
        default=0, help_text="How many of their answers others may see with each item."
    )
    decided_at = models.DateTimeField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_shown=True) | Q(features=[], text="", examples=0),
                name="own_profile_empty_without_consent",
            )
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id}: {'shown' if self.is_shown else 'not shown'}"


class LinkedStudy(models.Model):
    """`study` has personas and labels of annotators of `first`, chosen by `rule`."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="linked_from")
    first = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="linked_studies")
    rule = models.JSONField(
        help_text="{persons, items_per_person, examples, seed}, and what there was to choose from."
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "linked studies"
        constraints = [
            models.CheckConstraint(condition=~Q(study=F("first")), name="linked_study_is_another")
        ]

    def __str__(self) -> str:
        return f"{self.study_id} from {self.first_id}"


def visit_code() -> str:
    return random_id(16)


class SecondVisitSettings(AddedSettings):
    """How much of their work people do a second time, and when."""

    name = "Second visit"
    retest_share = models.PositiveSmallIntegerField(
        "items answered again, in percent",
        default=0,
        validators=[MaxValueValidator(100)],
        help_text="Only if annotators answer for themselves: the share of their items that they "
        "answer a second time. 0 for no second visit.",
    )
    retest_days = models.PositiveSmallIntegerField(
        "days until then",
        default=7,
        validators=[MinValueValidator(1), MaxValueValidator(365)],
        help_text="From 1 to 365, after an annotator has finished.",
    )

    class Meta:
        ordering = ["pk"]
        verbose_name = verbose_name_plural = "second visit"
        constraints = [
            models.CheckConstraint(
                condition=Q(retest_share__lte=100) & Q(retest_days__range=(1, 365)),
                name="second_visit_range",
            )
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.retest_share} % after {self.retest_days} days"

    def clean(self) -> None:
        if self.retest_share and not self.study.asks_own_answers:
            raise ValidationError(
                {
                    "retest_share": "Only annotators who answer for themselves are asked again. "
                    "Enter 0, or change the perspective."
                }
            )

    def consent_sentence(self) -> str:
        if not self.retest_share:
            return ""
        return ngettext(
            "After %(days)s day we ask you to come back and answer some of the items again.",
            "After %(days)s days we ask you to come back and answer some of the items again.",
            self.retest_days,
        ) % {"days": self.retest_days}


class RetestVisit(models.Model):
    """A second visit that an annotator may make from `due_at`, by a personal link."""

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

    @property
    def days(self) -> int:
        """Days from now until it is due, rounded up."""
        return max(1, math.ceil((self.due_at - clock.now()) / dt.timedelta(days=1)))


class RetestAnswer(models.Model):
    """An item of a second visit; without a choice until it is answered, then final."""

    visit = models.ForeignKey(RetestVisit, on_delete=models.PROTECT, related_name="answers")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="retest_answers")
    position = models.PositiveIntegerField()
    shown_first = models.CharField(max_length=2, choices=Side)
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    active_ms = models.PositiveBigIntegerField(null=True, blank=True)
    media_missing = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A picture or recording did not load, and the person chose to answer without it.",
    )
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


class SecondVisitCode(models.Model):
    """The completion code of second visits, for a separate study on a platform."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="second_visit_code")
    code = models.CharField(max_length=20, unique=True, default=random_code)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.code}"


class LaterWave(models.Model):
    """`study` asks the people of `first` again; the first study of a series has no row."""

    class Items(models.TextChoices):
        SAME = "same", "the same items"
        SOME = "some", "some of the items"
        OTHER = "other", "other items"

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="wave")
    first = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="later_waves")
    number = models.PositiveSmallIntegerField(help_text="2, 3, … in the series.")
    items = models.CharField(max_length=5, choices=Items)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["first", "number"], name="wave_number_once"),
            models.CheckConstraint(condition=~Q(study=F("first")), name="wave_is_another"),
            models.CheckConstraint(
                condition=Q(items__in=["same", "some", "other"]), name="wave_items"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: wave {self.number} of {self.first_id}"


class WavePerson(models.Model):
    """Somebody of the first wave who may take part in a later one, by the hash of their id there.

    Only this table connects the two, and only with the key of the server.
    """

    wave = models.ForeignKey(LaterWave, on_delete=models.PROTECT, related_name="people")
    annotator = models.ForeignKey(
        Annotator, on_delete=models.PROTECT, related_name="later_waves", help_text="In the first."
    )
    identity_hash = models.CharField(max_length=64)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "wave people"
        constraints = [
            models.UniqueConstraint(fields=["wave", "annotator"], name="wave_person_once"),
            models.UniqueConstraint(fields=["wave", "identity_hash"], name="wave_identity_once"),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id} in {self.wave_id}"
