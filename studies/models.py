"""What is being judged: a study, the people it is about, and the items."""

import random
import secrets
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone

# The largest file is read and stored in some minutes; a job that has not moved for this long
# lost its worker.
IMPORT_STALLED_AFTER = timedelta(minutes=15)


def public_id() -> str:
    """An id for URLs that tells nothing about how many there are."""
    return secrets.token_urlsafe(16)


def shuffle_key() -> int:
    return secrets.randbits(62)


def study_seed() -> int:
    return random.SystemRandom().randrange(2**31)


def export_key() -> str:
    return secrets.token_hex(32)


class Side(models.TextChoices):
    """A response by content. Sides A and B exist only on a screen or in a prompt."""

    R1 = "r1", "response 1"
    R2 = "r2", "response 2"


class Choice(models.TextChoices):
    """An answer in content terms."""

    R1 = "r1", "response 1"
    R2 = "r2", "response 2"
    TIE = "tie", "no clear difference"


class Task(models.TextChoices):
    PREFERENCE = "preference", "preference"
    SURVEY_ANSWER = "survey_answer", "survey answer"
    AUTHORSHIP = "authorship", "authorship"
    QUESTION_ANSWER_AUTHORSHIP = "question_answer_authorship", "question-answer authorship"


class Study(models.Model):
    class Entry(models.TextChoices):
        PROLIFIC = "prolific", "Prolific"
        LINK = "link", "open link"
        LIST = "list", "list of ids"

    class State(models.TextChoices):
        DRAFT = "draft", "draft"
        OPEN = "open", "open"
        PAUSED = "paused", "paused"
        CLOSED = "closed", "closed"

    class PersonaStyle(models.TextChoices):
        FACTS = "facts", "facts"
        SENTENCES = "sentences", "sentences"

    class CertaintyControl(models.TextChoices):
        """What people give their certainty with; a number box is always there."""

        SLIDER = "slider", "slider and number"
        NUMBER = "number", "number alone"
        LEVELS = "levels", "five levels, then a number"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=200)
    task = models.CharField(max_length=40, choices=Task, default=Task.PREFERENCE)
    entry = models.CharField(max_length=20, choices=Entry, default=Entry.PROLIFIC)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    is_simulated = models.BooleanField(
        default=False,
        editable=False,
        help_text="Simulated answers or judges.",
    )

    allow_tie = models.BooleanField(default=False)
    ask_certainty = models.BooleanField(default=True)
    certainty_control = models.CharField(
        max_length=10, choices=CertaintyControl, default=CertaintyControl.SLIDER
    )
    allow_changes = models.BooleanField(
        default=True, help_text="People may go back and change an answer until they finish."
    )
    certainty_threshold = models.PositiveSmallIntegerField(
        default=80, validators=[MinValueValidator(1), MaxValueValidator(100)]
    )
    equivalence_margin = models.FloatField(
        default=0.05, validators=[MinValueValidator(0.001), MaxValueValidator(0.5)]
    )
    items_per_annotator = models.PositiveSmallIntegerField(
        default=30, validators=[MinValueValidator(1)]
    )
    annotations_per_item = models.PositiveSmallIntegerField(
        default=3, validators=[MinValueValidator(1)]
    )
    human_sample = models.PositiveIntegerField(
        null=True, blank=True, help_text="How many items people get; empty means all."
    )
    persona_style = models.CharField(
        max_length=10, choices=PersonaStyle, default=PersonaStyle.SENTENCES
    )
    show_history = models.PositiveSmallIntegerField(default=0)

    minutes = models.PositiveSmallIntegerField(default=20, validators=[MinValueValidator(1)])
    reward = models.PositiveIntegerField(default=450, help_text="Minor units, for example cents.")
    currency = models.CharField(
        max_length=3, default="USD", validators=[RegexValidator(r"\A[A-Z]{3}\Z")]
    )
    language = models.CharField(max_length=35, default="en")
    contact = models.EmailField(blank=True)
    researchers = models.CharField(max_length=300, blank=True)
    storage = models.CharField(max_length=300, blank=True)
    ethics = models.CharField(max_length=300, blank=True)
    instructions = models.TextField(blank=True, help_text="Markdown; empty uses the task's own.")
    consent = models.TextField(blank=True, help_text="Markdown; empty uses the default text.")
    debrief = models.TextField(blank=True, help_text="Markdown; empty uses the default text.")
    ai_policy = models.TextField(blank=True, help_text="What annotators are told about AI tools.")
    source = models.JSONField(default=dict, blank=True, help_text="Where the items come from.")

    seed = models.BigIntegerField(default=study_seed, editable=False)
    # Names people in exports, so that two exports join and nothing else does.
    export_key = models.CharField(max_length=64, default=export_key, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    frozen_at = models.DateTimeField(null=True, blank=True, editable=False)
    content_hash = models.CharField(max_length=64, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]
        verbose_name_plural = "studies"
        constraints = [
            models.CheckConstraint(condition=Q(task__in=Task.values), name="study_task"),
            models.CheckConstraint(
                condition=Q(state__in=["draft", "open", "paused", "closed"]), name="study_state"
            ),
            models.CheckConstraint(
                condition=Q(entry__in=["prolific", "link", "list"]), name="study_entry"
            ),
            models.CheckConstraint(
                condition=Q(persona_style__in=["facts", "sentences"]), name="study_persona_style"
            ),
            models.CheckConstraint(
                condition=Q(certainty_threshold__range=(1, 100)), name="study_certainty_threshold"
            ),
            models.CheckConstraint(
                condition=Q(certainty_control__in=["slider", "number", "levels"]),
                name="study_certainty_control",
            ),
            models.CheckConstraint(
                condition=Q(items_per_annotator__gte=1) & Q(annotations_per_item__gte=1),
                name="study_seats_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class StudyLog(models.Model):
    """What changed in a study, when, and by whom."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="log")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    event = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.event}"


class Persona(models.Model):
    """A profile of a real person: ordered features, free text, earlier choices."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="personas")
    key = models.CharField(max_length=120)
    features = models.JSONField(default=list, help_text="[{key, label, value, text}, …] in order.")
    text = models.TextField(blank=True)
    history = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="persona_key_once_per_study")
        ]

    def __str__(self) -> str:
        return self.key


class FeatureSet(models.Model):
    """A named choice of persona features, for ablations."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="feature_sets")
    name = models.CharField(max_length=60)
    keys = models.JSONField(default=list, help_text="Feature keys in order.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="feature_set_name_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.name


class MainItemManager(models.Manager["Item"]):
    """Items that are judged: practice, checks and examples lie outside seats and analysis."""

    def get_queryset(self) -> models.QuerySet["Item"]:
        return super().get_queryset().filter(split=Item.Split.MAIN)


class Item(models.Model):
    class Split(models.TextChoices):
        MAIN = "main", "main"
        PRACTICE = "practice", "practice"
        ATTENTION_CHECK = "attention_check", "attention check"
        EXAMPLE = "example", "example"

    class FirstPerson(models.TextChoices):
        """The person's own answer; empty where nobody knows it."""

        R1 = "r1", "response 1"
        R2 = "r2", "response 2"
        TIE = "tie", "tie"
        NONE = "", "unknown"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="all_items")
    persona = models.ForeignKey(Persona, on_delete=models.PROTECT, related_name="all_items")
    key = models.CharField(max_length=120)
    split = models.CharField(max_length=20, choices=Split, default=Split.MAIN)
    task = models.CharField(max_length=40, choices=Task, default=Task.PREFERENCE)
    group = models.CharField(max_length=120, blank=True)
    topic = models.CharField(max_length=120, blank=True)
    language = models.CharField(max_length=35, blank=True)
    question = models.TextField(blank=True)
    context = models.TextField(blank=True)
    context_title = models.CharField(max_length=300, blank=True)
    r1 = models.JSONField(help_text="{text, prompt, generated_by, score}")
    r2 = models.JSONField(help_text="{text, prompt, generated_by, score}")
    first_person = models.CharField(
        max_length=3, choices=FirstPerson, default=FirstPerson.NONE, blank=True
    )
    first_person_source = models.CharField(max_length=20, default="unknown", blank=True)
    label_confidence = models.FloatField(null=True, blank=True)
    margin = models.FloatField(null=True, blank=True)
    fixed_first = models.CharField(max_length=2, choices=Side, blank=True)
    shuffle_sides = models.BooleanField(default=True)
    check_answer = models.CharField(max_length=2, choices=Side, blank=True)
    check_instruction = models.TextField(blank=True)
    warnings = models.JSONField(default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    content_hash = models.CharField(max_length=64, editable=False)

    seats_needed = models.PositiveSmallIntegerField(default=0, editable=False)
    seats_taken = models.PositiveSmallIntegerField(default=0, editable=False)
    answered = models.PositiveSmallIntegerField(default=0, editable=False)
    shuffle_key = models.BigIntegerField(default=shuffle_key, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    everything = models.Manager["Item"]()
    objects = MainItemManager()

    class Meta:
        ordering = ["key"]
        # Related objects and the admin must find checks and practice items too.
        base_manager_name = "everything"
        default_manager_name = "objects"
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="item_key_once_per_study"),
            models.CheckConstraint(
                condition=Q(seats_taken__lte=F("seats_needed")), name="item_seats_within_need"
            ),
            models.CheckConstraint(
                condition=Q(answered__lte=F("seats_taken")), name="item_answered_within_seats"
            ),
            models.CheckConstraint(
                condition=Q(split__in=["main", "practice", "attention_check", "example"]),
                name="item_split",
            ),
            models.CheckConstraint(condition=Q(task__in=Task.values), name="item_task"),
            models.CheckConstraint(
                condition=Q(first_person__in=["r1", "r2", "tie", ""]), name="item_first_person"
            ),
            models.CheckConstraint(
                condition=Q(fixed_first__in=["r1", "r2", ""]), name="item_fixed_first"
            ),
            models.CheckConstraint(
                condition=~Q(split="attention_check") | Q(check_answer__in=["r1", "r2"]),
                name="item_check_has_answer",
            ),
        ]
        indexes = [
            models.Index(
                fields=["study", "split", "seats_taken", "shuffle_key"], name="item_open_seats"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    def response(self, side: str) -> dict[str, Any]:
        """The response `side` ("r1" or "r2") as imported."""
        response: dict[str, Any] = self.r1 if side == Side.R1 else self.r2
        return response


class Membership(models.Model):
    """Who may see or change a study; every researcher query is filtered by it."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner"
        EDITOR = "editor", "editor"
        VIEWER = "viewer", "viewer"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "study"], name="membership_once_per_study"),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.study_id}"


class ImportJob(models.Model):
    """A large file of items that a worker imports; it lies in VAR_DIR/imports until then."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "being read"
        DONE = "done", "done"
        REFUSED = "refused", "not imported"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imports")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    file_name = models.CharField(max_length=255)
    task = models.CharField(max_length=40, choices=Task)
    dry_run = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.PositiveSmallIntegerField(default=0, help_text="Percent of the rows read.")
    message = models.TextField(blank=True, help_text="What came out.")
    faults = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "refused"]),
                name="import_job_state",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"]) | ~Q(message=""),
                name="import_job_says_what_came_out",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.file_name}"

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in {self.State.QUEUED, self.State.RUNNING} and not self.is_stalled

    @property
    def is_stalled(self) -> bool:
        """Whether it stopped moving: the worker was killed, or none is running."""
        unfinished = self.state in {self.State.QUEUED, self.State.RUNNING}
        return unfinished and timezone.now() - self.moved_at > IMPORT_STALLED_AFTER
