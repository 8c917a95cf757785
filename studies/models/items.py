"""A study's personas, its items with pictures and sounds, and imports of them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, models
from django.db.models import F, Q, Value

from studies.jobs.models import Job
from studies.models.keys import public_id, shuffle_key
from studies.models.studies import Study, Task
from studies.statements import clock


class Side(models.TextChoices):
    """A response by content. Sides A and B exist only on a screen or in a prompt."""

    R1 = "r1", "response 1"
    R2 = "r2", "response 2"


class Choice(models.TextChoices):
    """A chosen response, by content."""

    R1 = "r1", "response 1"
    R2 = "r2", "response 2"
    TIE = "tie", "no clear difference"


class Persona(models.Model):
    """A profile of a real person: ordered features, free text, earlier choices."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="personas")
    key = models.CharField(max_length=120)
    features = models.JSONField(default=list, help_text="[{key, label, value, text}, …] in order.")
    text = models.TextField(blank=True)
    history = models.JSONField(default=list, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

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
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name"], name="feature_set_name_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.name


class MainItemManager(models.Manager["Item"]):
    """Items that are judged, without practice, checks and examples."""

    def get_queryset(self) -> models.QuerySet["Item"]:
        return super().get_queryset().filter(split=Item.Split.MAIN)


class Item(models.Model):
    class Split(models.TextChoices):
        MAIN = "main", "main"
        PRACTICE = "practice", "practice"
        ATTENTION_CHECK = "attention_check", "attention check"
        EXAMPLE = "example", "example"
        # Judged once, but found faulty: its answers stay, and nothing counts them.
        LEFT_OUT = "left_out", "taken out"

    class FirstPerson(models.TextChoices):
        """The source of the persona's own answer; empty if unknown."""

        R1 = "r1", "response 1"
        R2 = "r2", "response 2"
        TIE = "tie", "tie"
        NONE = "", "unknown"

    # The key of the metadata with the id of the faulty item that this one follows.
    REPLACES = "_replaces"

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
    media = models.JSONField(
        default=list,
        db_default=Value([], models.JSONField()),
        blank=True,
        help_text="Pictures and sounds shown with the question.",
    )
    r1 = models.JSONField(help_text="{text, prompt, generated_by, score, media}")
    r2 = models.JSONField(help_text="{text, prompt, generated_by, score, media}")
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
    advice = models.JSONField(
        default=dict,
        blank=True,
        help_text="{kind, title, text, favors}: shown after the first answer.",
    )
    option_set = models.JSONField(
        default=dict,
        blank=True,
        help_text="{id, rule, place, chosen, others}: the responses that it was paired from.",
    )
    reference = models.TextField(
        blank=True,
        default="",
        db_default="",
        help_text="A reference answer, which only judges can see; never shown to people.",
    )
    warnings = models.JSONField(default=list, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    content_hash = models.CharField(max_length=64, editable=False)

    seats_needed = models.PositiveSmallIntegerField(default=0, editable=False)
    seats_taken = models.PositiveSmallIntegerField(default=0, editable=False)
    answered = models.PositiveSmallIntegerField(default=0, editable=False)
    # The probability with which it was drawn for annotators by a judge's certainty; null otherwise.
    draw_probability = models.FloatField(null=True, blank=True, editable=False)
    is_held_back = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="Only a part of the profile is known, and nobody agreed to show it to people.",
    )
    left_out_reason = models.TextField(blank=True, editable=False)
    shuffle_key = models.BigIntegerField(default=shuffle_key, editable=False)
    created_at = clock.MomentField(auto_now_add=True)

    everything = models.Manager["Item"]()
    objects = MainItemManager()

    class Meta:
        ordering = ["key"]
        # Related objects and the admin need checks and practice items too.
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
                condition=Q(draw_probability=None)
                | (Q(draw_probability__gt=0) & Q(draw_probability__lte=1)),
                name="item_draw_probability",
            ),
            models.CheckConstraint(
                condition=Q(
                    split__in=["main", "practice", "attention_check", "example", "left_out"]
                ),
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
            # People often get a sample of a large study: the other items are not in the index.
            models.Index(
                fields=["study", "split", "seats_taken", "shuffle_key"],
                condition=Q(seats_needed__gt=0),
                name="item_with_seats",
            ),
            models.Index(fields=["study", "split"], name="item_split_of_study"),
            models.Index(
                fields=["study"], condition=Q(is_held_back=True), name="item_held_back_of_study"
            ),
        ]

    def __str__(self) -> str:
        return self.key

    @property
    def lang(self) -> str:
        """The language of its texts, for the lang attribute: its own, otherwise the study's."""
        return (self.language or self.study.language).replace("_", "-")

    @property
    def has_advice(self) -> bool:
        """Whether it is answered twice: before and after an advice."""
        return bool(self.advice)

    @property
    def option_count(self) -> int:
        """How many responses the set that it was paired from has; 2 without a set."""
        return 2 + len(self.option_set.get("others", ()))

    @property
    def options(self) -> list[dict[str, Any]]:
        """The responses of the set that it was paired from, in order; its own two without a set."""
        if not self.option_set:
            return [self.r1, self.r2]
        place = self.option_set["place"]
        by_place = {response["place"]: response for response in self.option_set["others"]}
        by_place |= {place[side]: self.response(side) for side in ("r1", "r2")}
        return [by_place[number] for number in sorted(by_place)]

    @property
    def shown_media(self) -> list[dict[str, Any]]:
        """The pictures and sounds of its question and of its two responses."""
        return [
            *self.media,
            *(medium for one in (self.r1, self.r2) for medium in one.get("media", ())),
        ]

    @property
    def all_media(self) -> list[dict[str, Any]]:
        """The pictures and sounds of its question and of every response of its set."""
        return [*self.media, *(medium for one in self.options for medium in one.get("media", ()))]

    def choice_of(self, ranking: Sequence[int]) -> str:
        """Which of its two responses ranks higher in a ranking of its set, by number."""
        place = self.option_set["place"]
        return str(min(Side.values, key=lambda side: ranking.index(place[side])))

    def response(self, side: str) -> dict[str, Any]:
        """The response `side` ("r1" or "r2") as imported."""
        response: dict[str, Any] = self.r1 if side == Side.R1 else self.r2
        return response


ROWS_READ = 99  # percent
# Storing the items takes one transaction of minutes, in which SQLite lets no other connection
# write, not even a heartbeat.
STORING_SILENCE = timedelta(minutes=15)


class ImportJob(Job):
    """Large files of items, stored until a worker has imported them."""

    failure = "The file could not be imported"
    unharmed = "Nothing was stored."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imports")
    file_name = models.CharField(max_length=255)
    task = models.CharField(max_length=40, choices=Task)
    dry_run = models.BooleanField(default=False)
    reading = models.JSONField(default=dict, help_text="Files, format, options and seed.")
    faults = models.JSONField(default=list)
    report = models.JSONField(default=dict, help_text="Counts and first items.")

    class Meta(Job.Meta):
        pass

    def __str__(self) -> str:
        return f"{self.study_id}: {self.file_name}"

    @property
    def silence_limit(self) -> timedelta:
        is_storing = self.progress == ROWS_READ and connection.vendor == "sqlite"
        return STORING_SILENCE if is_storing else super().silence_limit


class Upload(models.Model):
    """Files whose columns an editor maps to the fields of an item, stored until then.

    Afterwards the row keeps the mapping for the next file with the same columns.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="uploads")
    files = models.JSONField(help_text="Names of the files.")
    columns_hash = models.CharField(max_length=64)
    mapping = models.JSONField()
    task = models.CharField(max_length=40, choices=Task)
    replace = models.PositiveIntegerField(
        null=True, blank=True, help_text="The number of items that the import replaces."
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = clock.MomentField(auto_now_add=True)
    imported_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["study", "columns_hash"], name="upload_by_columns")]

    def __str__(self) -> str:
        return f"{self.study_id}: {', '.join(self.files)}"
