"""Studies, their log, their members, and when their data is deleted."""

import re

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from studies.extra import (
    current_name,
    extras_for_studies,
    extras_of_new_studies,
    of_installation,
)
from studies.models.added_settings import clean_added
from studies.models.keys import export_key, public_id, study_seed
from studies.statements import clock
from studies.texts.languages import page_language
from studies.texts.markdown import read_criteria
from studies.texts.normalisation import REDISTRIBUTION

# The largest whole number that PostgreSQL stores in four bytes.
LARGEST_NUMBER = 2**31 - 1
LANGUAGE_CODE = re.compile(r"[A-Za-z]{2,8}([-_][A-Za-z0-9]{1,8})*")


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
        """The control for certainty on annotators' pages; a number box is always there."""

        SLIDER = "slider", "slider and number"
        NUMBER = "number", "number alone"
        LEVELS = "levels", "five levels, then a number"

    class TieMeaning(models.TextChoices):
        """The meaning of the third answer, which is stored as a tie in any case."""

        DIFFERENCE = "difference", "no clear difference"
        EITHER = "either", "either could be right"

    class SetDisplay(models.TextChoices):
        """How annotators see items that were paired from three to five responses."""

        PAIRS = "pairs", "in pairs"
        WHOLE = "whole", "the whole set on one screen"

    class Perspective(models.TextChoices):
        """For whom annotators answer."""

        PERSONA = "persona", "for the person in a profile"
        OWN = "own", "for themselves"

    class MachineSigns(models.TextChoices):
        OFF = "off", "not measured"
        MEASURED = "measured", "measured"
        TRAP = "trap", "measured, with hidden instructions in attention checks"

    slug = models.SlugField(max_length=60, unique=True)
    title = models.CharField(max_length=200)
    task = models.CharField(max_length=40, choices=Task, default=Task.PREFERENCE)
    perspective = models.CharField(
        max_length=10,
        choices=Perspective,
        default=Perspective.PERSONA,
        db_default=Perspective.PERSONA,
    )
    entry = models.CharField(max_length=20, choices=Entry, default=Entry.PROLIFIC)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    is_simulated = models.BooleanField(
        default=False,
        editable=False,
        help_text="Simulated answers or judges.",
    )

    criteria = models.JSONField(
        default=list,
        blank=True,
        help_text="What responses are judged by: a list of {key, name, description}.",
    )
    allow_tie = models.BooleanField(default=False)
    tie_meaning = models.CharField(max_length=10, choices=TieMeaning, default=TieMeaning.DIFFERENCE)
    ask_certainty = models.BooleanField(default=True)
    certainty_control = models.CharField(
        max_length=10, choices=CertaintyControl, default=CertaintyControl.SLIDER
    )
    allow_changes = models.BooleanField(
        default=True, help_text="People may go back and change an answer until they finish."
    )
    machine_signs = models.CharField(
        max_length=10,
        choices=MachineSigns,
        default=MachineSigns.MEASURED,
        db_default=MachineSigns.MEASURED,
        help_text="Whether signs of programs among the annotators are measured.",
    )
    allow_translation = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Whether browsers may translate the texts of items.",
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
    draw = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="By which judge the items for people were drawn, and with which seed.",
    )
    set_display = models.CharField(
        max_length=10,
        choices=SetDisplay,
        default=SetDisplay.PAIRS,
        db_default=SetDisplay.PAIRS,
        help_text="How people see sets of three to five responses.",
    )
    persona_style = models.CharField(
        max_length=10, choices=PersonaStyle, default=PersonaStyle.SENTENCES
    )
    show_history = models.PositiveSmallIntegerField(default=0)
    phone_features = models.CharField(
        max_length=300,
        blank=True,
        default="",
        db_default="",
        help_text="Keys of the features that phones show before the profile is opened; empty: all.",
    )
    show_markdown = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether people see the Markdown of responses as its layout.",
    )

    pause_when_full = models.BooleanField(
        default=True,
        db_default=True,
        help_text="Whether recruiting on Prolific is paused when all answers are in.",
    )
    starts_per_hour = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[MaxValueValidator(1_000_000)],
        help_text="How many people may start from one network address within an hour; 0: no limit, "
        "empty: the usual one of the way to enter.",
    )

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
    extras = models.JSONField(
        default=extras_of_new_studies,
        blank=True,
        help_text="Names of the extras that are on.",
    )
    source = models.JSONField(default=dict, blank=True, help_text="Where the items come from.")
    sharing = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="What an owner decided about sending items to providers of models.",
    )

    seed = models.BigIntegerField(default=study_seed, editable=False)
    # Key for annotators' names in exports, so that two exports of a study can be joined.
    export_key = models.CharField(max_length=64, default=export_key, editable=False)
    version = models.PositiveIntegerField(default=1, editable=False)
    frozen_at = models.DateTimeField(null=True, blank=True, editable=False)
    content_hash = models.CharField(max_length=64, blank=True, editable=False)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = clock.MomentField(auto_now_add=True)

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
                condition=Q(perspective__in=["persona", "own"]), name="study_perspective"
            ),
            models.CheckConstraint(
                condition=Q(set_display__in=["pairs", "whole"]), name="study_set_display"
            ),
            models.CheckConstraint(
                condition=Q(persona_style__in=["facts", "sentences"]), name="study_persona_style"
            ),
            models.CheckConstraint(
                condition=Q(certainty_threshold__range=(1, 100)), name="study_certainty_threshold"
            ),
            models.CheckConstraint(
                condition=Q(tie_meaning__in=["difference", "either"]), name="study_tie_meaning"
            ),
            models.CheckConstraint(
                condition=Q(certainty_control__in=["slider", "number", "levels"]),
                name="study_certainty_control",
            ),
            models.CheckConstraint(
                condition=Q(machine_signs__in=["off", "measured", "trap"]),
                name="study_machine_signs",
            ),
            models.CheckConstraint(
                condition=Q(items_per_annotator__gte=1) & Q(annotations_per_item__gte=1),
                name="study_seats_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.title

    def has_extra(self, name: str) -> bool:
        """Whether an extra is on; those of the installation are on everywhere."""
        return name in self.extras or name in of_installation()

    @property
    def is_under_way(self) -> bool:
        """Whether it is open, or paused."""
        return self.state in (self.State.OPEN, self.State.PAUSED)

    @property
    def asks_own_answers(self) -> bool:
        """Whether annotators answer for themselves, not for the person in a profile."""
        return self.perspective == self.Perspective.OWN

    @property
    def page_language(self) -> str:
        """The language in which Django renders the participants' pages."""
        return page_language(self.language)

    @property
    def shows_whole_sets(self) -> bool:
        """Whether annotators rank all responses of a set on one screen."""
        return self.set_display == self.SetDisplay.WHOLE

    @property
    def offers_either(self) -> bool:
        """Whether annotators may answer that either response could be right."""
        return self.allow_tie and self.tie_meaning == self.TieMeaning.EITHER

    @property
    def measures_signs(self) -> bool:
        """Whether item pages count what programs do differently from people."""
        return self.machine_signs != self.MachineSigns.OFF

    @property
    def sets_trap(self) -> bool:
        """Whether attention checks have an instruction that people cannot see."""
        return self.machine_signs == self.MachineSigns.TRAP and self.ask_certainty

    @property
    def features_on_phones(self) -> frozenset[str]:
        """The keys of the features that phones show before a long profile is opened."""
        return frozenset(filter(None, map(str.strip, self.phone_features.split(","))))

    @property
    def shown_criteria(self) -> tuple[tuple[str, str], ...]:
        """The name and the description of each criterion."""
        return tuple(
            (criterion["name"], criterion.get("description", "")) for criterion in self.criteria
        )

    def clean(self) -> None:
        """Refuse criteria that cannot be shown, and unknown values of redistribution.

        The latter would allow texts to be exported.
        """
        try:
            self.criteria = read_criteria(self.criteria)
        except ValidationError as error:
            raise ValidationError({"criteria": error.messages}) from error
        if not isinstance(self.source, dict):
            raise ValidationError(
                {"source": "The source must be an object whose values are texts."}
            )
        self._clean_numbers_and_language()
        self.clean_extras()
        self._clean_perspective()
        self._clean_phone_features()
        clean_added(self)
        repeated = self.source.get("retest_agreement")
        if repeated is not None and not (
            isinstance(repeated, int | float) and 0.5 < float(repeated) <= 1
        ):
            raise ValidationError(
                {
                    "source": f"retest_agreement is {repeated!r}. Use a number above 0.5, up to 1: "
                    "the share of own answers that people repeat when asked again."
                }
            )
        word = self.source.get("redistribution")
        if word and word not in REDISTRIBUTION:
            known = ", ".join(REDISTRIBUTION)
            raise ValidationError(
                {"source": f"redistribution “{word}” is not known. Use one of: {known}."}
            )

    def _clean_numbers_and_language(self) -> None:
        """Refuse on SQLite too what PostgreSQL cannot store, and what is no code of a language."""
        for field in self._meta.concrete_fields:
            is_big = isinstance(field, models.BigIntegerField)
            if isinstance(field, models.IntegerField) and not is_big:
                value = getattr(self, field.attname)
                if isinstance(value, int) and abs(value) > LARGEST_NUMBER:
                    problem = f"{value} is too large: at most {LARGEST_NUMBER}."
                    raise ValidationError({field.name: problem})
        if not LANGUAGE_CODE.fullmatch(str(self.language)):
            raise ValidationError(
                {
                    "language": f"“{self.language}” is no code of a language. Use one like en, "
                    "pt-br or zh-hans."
                }
            )

    def _clean_phone_features(self) -> None:
        wanted = self.features_on_phones
        if not wanted or self.pk is None:
            return
        profiles = self.personas.values_list("features", flat=True)
        known = {fact["key"] for facts in profiles.iterator() for fact in facts}
        if known and (unknown := sorted(wanted - known)):
            raise ValidationError(
                {
                    "phone_features": f"No profile has the feature “{unknown[0]}”. Use keys of: "
                    f"{', '.join(sorted(known))}."
                }
            )

    def clean_extras(self) -> None:
        """Refuse names of unknown extras; those that the installation has lost stay.

        Names of earlier versions become those of today; what every study has now needs no name.
        """
        known = extras_for_studies()
        if not isinstance(self.extras, list) or not all(
            isinstance(name, str) for name in self.extras
        ):
            raise ValidationError({"extras": "Extras must be a list of names."})
        lost = type(self)._default_manager.filter(pk=self.pk).values_list("extras", flat=True)
        names = {*known, *(name for names in lost for name in names)}
        wanted = set()
        for name in self.extras:
            current = current_name(name)
            if current in names:
                wanted.add(current)
            elif current == name:
                raise ValidationError(
                    {"extras": f"There is no extra “{name}”. Use names of: {', '.join(known)}."}
                )
        self.extras = sorted(wanted)

    def _clean_perspective(self) -> None:
        if self.asks_own_answers and self.task not in (Task.PREFERENCE, Task.SURVEY_ANSWER):
            raise ValidationError(
                {
                    "perspective": "Annotators who answer for themselves can say what they prefer "
                    "or what they would answer. Choose one of these two tasks."
                }
            )
        if self.shows_whole_sets and self.asks_own_answers:
            raise ValidationError(
                {
                    "set_display": "Annotators who answer for themselves see pairs only. Choose "
                    "“in pairs”, or change the perspective."
                }
            )


class StudyLog(models.Model):
    """Changes to a study, with time and user."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="log")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    event = models.CharField(max_length=60)
    detail = models.JSONField(default=dict)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.event}"


class Membership(models.Model):
    """A user's role in a study; every researcher query is filtered by it."""

    class Role(models.TextChoices):
        OWNER = "owner", "owner"
        EDITOR = "editor", "editor"
        VIEWER = "viewer", "viewer"

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "study"], name="membership_once_per_study"),
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} is {self.role} of {self.study_id}"


class TeamInvitation(models.Model):
    """A link that makes one person a member of a study. Only a hash of its secret is stored."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="team_invitations")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.VIEWER)
    note = models.CharField(max_length=200, blank=True, help_text="Whom it is for.")
    secret_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, help_text="When it was accepted or withdrawn.")

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]), name="invitation_role"
            )
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.study_id}"


class AccessToken(models.Model):
    """Lets a program act for its user within its scopes. Only a hash is stored."""

    class Scope(models.TextChoices):
        READ = "read", "read"
        WRITE = "write", "change"
        SPEND = "spend", "spend"
        EXPORT = "export", "export"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_tokens"
    )
    name = models.CharField(max_length=100)
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list, help_text="What it may do: values of Scope.")
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    window_started_at = models.DateTimeField(null=True, help_text="The last minute of its use.")
    window_requests = models.PositiveIntegerField(default=0, help_text="Requests in that minute.")
    used_at = models.DateTimeField(null=True, help_text="To the day.")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"

    @property
    def scope_labels(self) -> list[str]:
        return [str(scope.label) for scope in self.Scope if scope in self.scopes]


class Retention(models.Model):
    """What an owner decided about deletion; a study without a row keeps everything."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="retention")
    identities_days = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text="Days after closing when the platform's ids are deleted."
    )
    delete_on = models.DateField(
        null=True, blank=True, help_text="When the study is deleted with everything in it."
    )
    set_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    obstacle = models.TextField(blank=True, help_text="Why what is due was not done yet.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(identities_days=None) | Q(identities_days__range=(1, 3650)),
                name="retention_days",
            )
        ]

    def __str__(self) -> str:
        return f"retention of {self.study_id}"


class RemovedPerson(models.Model):
    """A record that a person's personas and all answers about them, or a person's own answers to
    items, were removed from a study.

    It does not say who it was. Earlier reports use the removed answers and are superseded.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="removed_people")
    own_answers = models.PositiveIntegerField(help_text="Labels or answers that were removed.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "removed people"

    def __str__(self) -> str:
        return f"{self.study_id}: {self.own_answers} own answers"
