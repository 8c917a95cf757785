"""Annotators of a study, their quota groups, and the log of their progress."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext

from studies.models import Study
from studies.statements import clock

# Why a researcher who walks through a test study is excluded; such walks are counted nowhere.
# Existing annotators have this text; do not change it.
TEST_WALK = "A researcher's walk through a test study."
# Excludes characters that are easily confused when a code is copied by hand.
_LETTERS = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ"


def random_code(length: int = 8) -> str:
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def new_pseudonym() -> str:
    return f"P-{random_code()}"


def annotator_seed() -> int:
    return secrets.randbits(31)


class Ending(models.TextChoices):
    """The ways an annotator's part can end; each has its own page and completion code."""

    COMPLETED = "completed", "completed"
    FAILED_ATTENTION = "failed_attention", "completed, attention checks failed"
    DECLINED = "declined", "no consent"
    QUOTA_FULL = "quota_full", "group full"
    DISQUALIFIED = "disqualified", "comprehension check"
    CLOSED = "closed", "study closed"
    INELIGIBLE = "ineligible", "took part in a related study"
    TIMED_OUT = "timed_out", "timed out"
    WITHDREW = "withdrew", "withdrew"
    RETURNED = "returned", "returned"
    REJECTED = "rejected", "rejected"


class DemographicQuestion(models.Model):
    """A question of the page “About you”, for a quota or for a profile of the annotator."""

    PREFER_NOT_TO_SAY = "prefer_not_to_say"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="demographic_questions")
    key = models.SlugField(max_length=40)
    label = models.CharField(max_length=200)
    options = models.JSONField(default=list, help_text="[{value, label}, …] in order.")
    sentence = models.CharField(
        max_length=200,
        blank=True,
        db_default="",
        help_text="How a profile says it, with {answer}: “The person is {answer}.”",
    )
    position = models.PositiveSmallIntegerField(default=1)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["position", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "key"], name="demographic_question_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return self.label

    def choices(self) -> list[tuple[str, str]]:
        """Every accepted answer, including “Prefer not to say”."""
        own = [(option["value"], option["label"]) for option in self.options]
        return [*own, (self.PREFER_NOT_TO_SAY, gettext("Prefer not to say"))]


class QuotaGroup(models.Model):
    """Places for annotators who match `criteria`; one group may take everybody else."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="quota_groups")
    criteria = models.JSONField(default=dict, blank=True, help_text="{question key: value}")
    is_everyone_else = models.BooleanField(default=False)
    target = models.PositiveIntegerField()
    reserved = models.PositiveIntegerField(default=0, editable=False)
    completed = models.PositiveIntegerField(default=0, editable=False)
    position = models.PositiveSmallIntegerField(default=1)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        # Queries outside this program know the table by this name.
        db_table = "annotation_quotacell"
        ordering = ["position", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(target__gte=F("reserved") + F("completed")),
                name="quota_cell_within_target",
            ),
            models.UniqueConstraint(
                fields=["study"],
                condition=Q(is_everyone_else=True),
                name="quota_one_everyone_else_per_study",
            ),
        ]

    def __str__(self) -> str:
        if self.is_everyone_else:
            return "everyone else"
        return ", ".join(f"{key}: {value}" for key, value in self.criteria.items())

    @property
    def open(self) -> int:
        return self.target - self.reserved - self.completed


class ConsentVersion(models.Model):
    """What annotators agreed to: a text with its boxes, and the promised terms.

    `version` is a hash of both, stored with each annotator as `consent_version`.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="consent_versions")
    version = models.CharField(max_length=64)
    html = models.TextField()
    statements = models.JSONField(default=list, blank=True)
    terms = models.JSONField(default=dict, help_text="Settings of the study at that time.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "version"], name="consent_version_once_per_study"
            )
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.version[:12]}"


class Annotator(models.Model):
    """An annotator in one study, known by a pseudonym; platform ids are in `ProlificIdentity`."""

    class State(models.TextChoices):
        ARRIVED = "arrived", "arrived"
        CONSENTED = "consented", "consented"
        SCREENED = "screened", "screened"
        INSTRUCTED = "instructed", "instructed"
        QUALIFIED = "qualified", "qualified"
        ANNOTATING = "annotating", "annotating"
        COMPLETED = "completed", "completed"
        DECLINED = "declined", "declined"
        QUOTA_FULL = "quota_full", "group full"
        DISQUALIFIED = "disqualified", "disqualified"
        CLOSED = "closed", "study closed"
        WITHDREW = "withdrew", "withdrew"
        RETURNED = "returned", "returned"
        TIMED_OUT = "timed_out", "timed out"
        REJECTED = "rejected", "rejected"

    class Quota(models.TextChoices):
        """The state of the annotator's place in the quota group."""

        NONE = "", "nothing"
        RESERVED = "reserved", "reserved"
        COMPLETED = "completed", "completed"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="annotators")
    pseudonym = models.CharField(max_length=120, default=new_pseudonym)
    # Null without a platform id, so that these annotators do not collide.
    identity_hash = models.CharField(max_length=64, null=True, editable=False)  # noqa: DJ001
    resume_code = models.CharField(max_length=16, null=True, editable=False)  # noqa: DJ001
    is_imported = models.BooleanField(default=False, editable=False)

    state = models.CharField(max_length=20, choices=State, default=State.ARRIVED)
    seed = models.BigIntegerField(default=annotator_seed, editable=False)
    consent_version = models.CharField(max_length=64, blank=True)
    consent_due = models.BooleanField(
        default=False, db_default=False, help_text="Agrees to an amended text before going on."
    )
    demographics = models.JSONField(default=dict, blank=True)
    quota_group = models.ForeignKey(
        QuotaGroup,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="annotators",
        db_column="quota_cell_id",
    )
    quota = models.CharField(max_length=10, choices=Quota, default=Quota.NONE, blank=True)
    works_surplus = models.BooleanField(
        default=False, help_text="Admitted beyond a full quota: paid in full, holds no seats."
    )
    failed_attention = models.BooleanField(default=False)
    feedback = models.TextField(blank=True)
    excluded_at = models.DateTimeField(null=True, blank=True)
    exclusion_reason = models.TextField(blank=True)

    created_at = clock.MomentField(auto_now_add=True)
    consented_at = models.DateTimeField(null=True, blank=True)
    screened_at = models.DateTimeField(null=True, blank=True)
    instructed_at = models.DateTimeField(null=True, blank=True)
    qualified_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="Seats and quota come back then; empty after the end."
    )

    first_answer_by = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="Without a first answer seats and quota come back then; empty after it.",
    )

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "identity_hash"], name="annotator_once_per_study"
            ),
            models.UniqueConstraint(
                fields=["study", "pseudonym"], name="annotator_pseudonym_once_per_study"
            ),
            models.UniqueConstraint(
                fields=["study", "resume_code"], name="annotator_resume_code_once_per_study"
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "arrived",
                        "consented",
                        "screened",
                        "instructed",
                        "qualified",
                        "annotating",
                        "completed",
                        "declined",
                        "quota_full",
                        "disqualified",
                        "closed",
                        "withdrew",
                        "returned",
                        "timed_out",
                        "rejected",
                    ]
                ),
                name="annotator_state",
            ),
            models.CheckConstraint(
                condition=Q(quota="")
                | Q(quota__in=["reserved", "completed"], quota_group__isnull=False),
                name="annotator_quota_has_group",
            ),
            models.CheckConstraint(
                condition=Q(excluded_at=None) | ~Q(exclusion_reason=""),
                name="annotator_exclusion_has_reason",
            ),
        ]
        indexes = [
            models.Index(fields=["study", "state"], name="annotator_state_index"),
            models.Index(
                fields=["expires_at"],
                condition=Q(expires_at__isnull=False),
                name="annotator_expiry",
            ),
            models.Index(
                fields=["first_answer_by"],
                condition=Q(first_answer_by__isnull=False),
                name="annotator_first_answer",
            ),
        ]

    def __str__(self) -> str:
        return self.pseudonym


class AnnotatorEvent(models.Model):
    """A log entry on an annotator's progress through a study."""

    # A browser that two annotators of a study used. Logs contain this text.
    SAME_BROWSER = "same browser"
    WAS_APPROVED = "approved on Prolific, then not"
    DELETED = "deleted at their request"

    annotator = models.ForeignKey(Annotator, on_delete=models.PROTECT, related_name="events")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    event = models.CharField(max_length=40)
    before = models.CharField(max_length=20, blank=True)
    after = models.CharField(max_length=20, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.annotator_id}: {self.event}"


class RelatedStudy(models.Model):
    """A rule that excludes annotators of `related` from `study`, because they know its material."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="related_studies")
    related = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="+")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "related studies"
        constraints = [
            models.UniqueConstraint(fields=["study", "related"], name="related_study_once"),
            models.CheckConstraint(
                condition=~Q(study=F("related")), name="related_study_is_another"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id} after {self.related_id}"


class LinkStart(models.Model):
    """A start by an open link: stores where it came from, but not who. Deleted within a day."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    address = models.CharField(max_length=64, help_text="A keyed hash of the network address.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        indexes = [
            models.Index(fields=["study", "address", "created_at"], name="link_start_by_address"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.created_at:%H:%M}"


class CompletionCode(models.Model):
    """The code an annotator enters on the platform; each ending of a study has one."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="completion_codes")
    ending = models.CharField(max_length=20, choices=Ending)
    code = models.CharField(max_length=20, unique=True, default=random_code)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["study", "ending"], name="completion_code_once_per_ending"
            ),
            models.CheckConstraint(
                condition=Q(ending__in=Ending.values), name="completion_code_ending"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.ending}"
