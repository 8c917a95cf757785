"""Seats at items with their answers, and comprehension questions with theirs."""

from collections.abc import Sequence

from django.db import models
from django.db.models import Q

from annotation.models.annotators import Annotator
from studies.models import Choice, Item, Side, Study
from studies.statements import clock


class Assignment(models.Model):
    """An annotator's seat at an item. A released assignment is reused, never created twice."""

    class State(models.TextChoices):
        RESERVED = "reserved", "reserved"
        ANSWERED = "answered", "answered"
        RELEASED = "released", "released"
        SKIPPED = "skipped", "skipped by the person"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="assignments")
    position = models.PositiveIntegerField()
    shown_first = models.CharField(max_length=2, choices=Side, blank=True)
    option_order = models.JSONField(
        null=True,
        blank=True,
        help_text="Numbers of all responses of its set as shown; null where a pair is shown.",
    )
    is_surplus = models.BooleanField(default=False, help_text="Holds no seat of the item.")
    state = models.CharField(max_length=10, choices=State, default=State.RESERVED)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["annotator", "position"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotator", "item"], name="assignment_item_once_per_person"
            ),
            models.UniqueConstraint(
                fields=["annotator", "position"], name="assignment_position_once_per_person"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["reserved", "answered", "released", "skipped"]),
                name="assignment_state",
            ),
            # Empty only for imported answers, whose file may not state the order.
            models.CheckConstraint(
                condition=Q(shown_first__in=["r1", "r2", ""]), name="assignment_shown_first"
            ),
            models.CheckConstraint(
                condition=~Q(shown_first="") | Q(is_surplus=True, state="answered"),
                name="assignment_order_known_of_own",
            ),
            models.CheckConstraint(
                condition=~Q(state="skipped") | Q(is_surplus=True),
                name="assignment_skipped_holds_no_seat",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id} at {self.item_id}"

    @property
    def shown_second(self) -> str:
        return Side.R2 if self.shown_first == Side.R1 else Side.R1

    def as_content(self, displayed: str) -> str:
        """Convert a choice as displayed to content terms: a, b or tie."""
        return {"a": self.shown_first, "b": self.shown_second, "tie": Choice.TIE}[displayed]

    def as_displayed(self, choice: str) -> str:
        """Convert a choice in content terms to the choice as displayed: a, b or tie."""
        if choice == Choice.TIE:
            return "tie"
        return "a" if choice == self.shown_first else "b"

    def as_ranking(self, displayed: Sequence[int]) -> dict[str, list[int]]:
        """A ranking of a set, given as places on the screen from 0, in content terms."""
        numbers: list[int] = self.option_order or []
        return {"shown": numbers, "ranking": [numbers[place] for place in displayed]}


class Translated(models.TextChoices):
    """What somebody saw in a browser's translation."""

    NOTHING = "", "nothing"
    PAGE = "page", "parts of the page"
    TEXTS = "texts", "texts of the item"


class Annotation(models.Model):
    """The current answer to an assignment; `revisions` keep its earlier versions."""

    class Standing(models.TextChoices):
        COUNTED = "counted", "counted"
        SURPLUS = "surplus", "surplus"
        RELEASED = "released", "released"
        WITHDRAWN = "withdrawn", "withdrawn"
        IMPORTED = "imported", "imported"
        CHECK = "check", "attention check"

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, related_name="annotation"
    )
    choice = models.CharField(max_length=3, choices=Choice)
    ranking = models.JSONField(
        null=True,
        blank=True,
        help_text="{shown, ranking}: the responses of a set by number, the best first; else null.",
    )
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    certainty_asked = models.BooleanField()
    certainty_control = models.CharField(
        max_length=10, blank=True, help_text="What it was given with: slider, number or levels."
    )
    standing = models.CharField(max_length=10, choices=Standing)
    shown_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    active_ms = models.PositiveBigIntegerField(null=True, blank=True)
    media_missing = models.BooleanField(
        default=False,
        db_default=False,
        help_text="A picture or recording did not load, and the person chose to answer without it.",
    )
    translated = models.CharField(
        max_length=5,
        choices=Translated,
        default=Translated.NOTHING,
        db_default=Translated.NOTHING,
        blank=True,
        help_text="What the browser showed in translation, as far as the page noticed.",
    )
    signals = models.JSONField(
        null=True,
        blank=True,
        help_text="Counts and durations that tell programs from people; null: not measured.",
    )
    wording_sha256 = models.CharField(max_length=64, blank=True)
    revision = models.PositiveIntegerField(default=1, help_text="1 = never changed.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(choice__in=["r1", "r2", "tie"]), name="annotation_choice"
            ),
            models.CheckConstraint(
                condition=Q(
                    standing__in=[
                        "counted",
                        "surplus",
                        "released",
                        "withdrawn",
                        "imported",
                        "check",
                    ]
                ),
                name="annotation_standing",
            ),
            models.CheckConstraint(
                condition=Q(certainty=None)
                | (Q(certainty__range=(1, 100), certainty_asked=True) & ~Q(choice="tie")),
                name="annotation_certainty_range",
            ),
            models.CheckConstraint(
                condition=Q(certainty_asked=False) | Q(choice="tie") | Q(certainty__isnull=False),
                name="annotation_certainty_where_asked",
            ),
            models.CheckConstraint(
                condition=Q(certainty_control="")
                | Q(certainty_control__in=["slider", "number", "levels"], certainty__isnull=False),
                name="annotation_certainty_control",
            ),
            models.CheckConstraint(
                condition=Q(translated__in=["", "page", "texts"]), name="annotation_translated"
            ),
            models.CheckConstraint(
                condition=Q(standing="imported") | Q(answered_at__isnull=False),
                name="annotation_time_of_own",
            ),
        ]
        indexes = [models.Index(fields=["standing"], name="annotation_standing_index")]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.choice}"


class InitialAnswer(models.Model):
    """The answer to an item with advice before the advice was shown; it never changes.

    The item counts as answered once the answer after the advice, an `Annotation`, is stored.
    """

    assignment = models.OneToOneField(
        Assignment, on_delete=models.PROTECT, related_name="initial_answer"
    )
    choice = models.CharField(max_length=3, choices=Choice)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    shown_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField()
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    active_ms = models.PositiveBigIntegerField(null=True, blank=True)
    media_missing = models.BooleanField(default=False, db_default=False)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(choice__in=["r1", "r2", "tie"]), name="initial_answer_choice"
            ),
            models.CheckConstraint(
                condition=Q(certainty=None) | (Q(certainty__range=(1, 100)) & ~Q(choice="tie")),
                name="initial_answer_certainty_range",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.assignment_id}: {self.choice} before the advice"


class Draft(models.Model):
    """Unsent input at an item; never an answer, never exported.

    The certainty is kept exactly as typed.
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="draft")
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    places = models.JSONField(
        null=True, blank=True, help_text="{number of a response: its place}, where a set is shown."
    )
    certainty = models.CharField(max_length=20, blank=True)
    added = models.JSONField(
        default=dict, blank=True, help_text="{questions of an extra: {field: what was entered}}."
    )
    active_ms = models.PositiveBigIntegerField(default=0)
    version = models.PositiveIntegerField(default=1)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(choice__in=["r1", "r2", "tie", ""]), name="draft_choice"
            ),
        ]

    def __str__(self) -> str:
        return f"draft at {self.assignment_id}"


class AnnotationRevision(models.Model):
    """One submission of an answer, including the first; rows are only ever added."""

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="revisions")
    number = models.PositiveIntegerField()
    choice = models.CharField(max_length=3, choices=Choice)
    ranking = models.JSONField(null=True, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    shown_at = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField()
    elapsed_ms = models.PositiveBigIntegerField(null=True, blank=True)
    active_ms = models.PositiveBigIntegerField(null=True, blank=True)
    media_missing = models.BooleanField(default=False, db_default=False)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["annotation", "number"]
        constraints = [
            models.UniqueConstraint(
                fields=["annotation", "number"], name="annotation_revision_number_once"
            ),
            models.CheckConstraint(
                condition=Q(choice__in=["r1", "r2", "tie"]), name="annotation_revision_choice"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.annotation_id}, revision {self.number}"


class StandingChange(models.Model):
    """The standing that an answer had until a moment, and not after it; rows are only ever added.

    What counted at a moment is known from these: answers take, lose and retake seats.
    """

    annotation = models.ForeignKey(Annotation, on_delete=models.PROTECT, related_name="standings")
    before = models.CharField(max_length=10, choices=Annotation.Standing)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.annotation_id}: {self.before} until {self.created_at}"


class ComprehensionQuestion(models.Model):
    """A question that checks whether the instructions were clear, asked before the items."""

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
