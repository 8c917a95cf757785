"""The recruiting platform's ids and data, which can all be deleted separately."""

import secrets

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from annotation.models.annotators import Annotator
from studies.models import Study
from studies.statements import clock


class ProlificIdentity(models.Model):
    """The platform's ids of an annotator; deletable separately, and not exported by default."""

    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, related_name="prolific_identity"
    )
    pid = models.CharField(max_length=64)
    study_id = models.CharField(max_length=64, blank=True)
    session_ids = models.JSONField(default=list, help_text="Every SESSION_ID seen, in order.")
    is_signed = models.BooleanField(default=False, help_text="They came by a link signed there.")
    unknown_since = models.DateTimeField(
        null=True, blank=True, help_text="When the platform first did not know the session."
    )
    # Annotators who are not found are looked up less and less often.
    looked_at = models.DateTimeField(null=True, blank=True)
    looks = models.PositiveSmallIntegerField(default=0)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "prolific identities"

    def __str__(self) -> str:
        return f"identity of {self.annotator_id}"


class Invitation(models.Model):
    """An id on the list of a study that only listed ids may enter."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="invitations")
    key = models.CharField(max_length=64)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="invitation_once_per_study")
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"


def internal_name() -> str:
    """A unique internal name, used to find a study again if the reply to its creation was lost."""
    return f"thirdperson-{secrets.token_hex(8)}"


class ProlificAccount(models.Model):
    """A token that was entered on a page for one workspace of Prolific, and its webhook secret.

    The account of the installation, whose token is a setting, has no row. After its token was
    removed, a row stays as long as studies depend on it: they name its workspace.
    """

    workspace_id = models.CharField(max_length=64)
    workspace_title = models.CharField(max_length=200, blank=True)
    sealed_token = models.TextField(blank=True, editable=False, help_text="Encrypted.")
    sealed_secret = models.TextField(
        blank=True, editable=False, help_text="The secret of the workspace's webhooks, encrypted."
    )
    given_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="Who entered the token, whose studies may use it.",
    )
    tested_at = models.DateTimeField(null=True, blank=True)
    refused_at = models.DateTimeField(
        null=True, blank=True, help_text="When Prolific refused the token; its studies wait."
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["workspace_title", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["workspace_id", "given_by"], name="prolific_account_once_per_giver"
            )
        ]

    def __str__(self) -> str:
        return self.workspace_title or self.workspace_id


class ProlificWorkspace(models.Model):
    """The claim of a running change of a workspace's webhooks, which all its studies share."""

    workspace_id = models.CharField(max_length=64, unique=True)
    busy_until = models.DateTimeField(null=True, blank=True)
    subscribed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return self.workspace_id


class Recruitment(models.Model):
    """A study's recruitment on Prolific: the launch plan, and the claim of a running change."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="recruitment")
    prolific_account = models.ForeignKey(
        ProlificAccount,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="recruitments",
        help_text="Empty for the account of the installation.",
    )
    plan = models.JSONField(default=dict, blank=True)
    group_id = models.CharField(max_length=64, blank=True)
    workspace = models.JSONField(
        default=dict, blank=True, help_text="Where the drafts are: workspace and project."
    )
    # Requests that must not be sent twice are sent by one process at a time. After a crash, the
    # claim expires.
    busy_until = models.DateTimeField(null=True, blank=True)
    webhooks_at = models.DateTimeField(null=True, blank=True)
    account = models.JSONField(
        default=dict, blank=True, help_text="Balance and least pay, as last read; minor units."
    )
    last_error = models.TextField(blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    # One worker at a time reads a study; the more readings in a row show nothing new, the longer
    # the wait for the next.
    reading_until = models.DateTimeField(null=True, blank=True)
    read_next_at = models.DateTimeField(null=True, blank=True)
    quiet_reads = models.PositiveSmallIntegerField(default=0)
    created_at = clock.MomentField(auto_now_add=True)

    def __str__(self) -> str:
        return f"recruitment of {self.study_id}"


class RecruitingManager(models.Manager["ProlificStudy"]):
    """The studies that recruit people, without those that bring them back."""

    def get_queryset(self) -> models.QuerySet["ProlificStudy"]:
        return super().get_queryset().filter(is_follow_up=False)


class ProlificStudy(models.Model):
    """A copy of Prolific's data on a study; never the source of our own state.

    A study has one row, or one for each quota group if the groups are recruited separately, and one
    for each follow-up, which brings the same people back and changes nothing about their first
    part. The row is stored before the study is created there: while `prolific_id` is empty, it is
    unknown whether the study was created.
    """

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_studies")
    internal_name = models.CharField(max_length=80, unique=True, default=internal_name)
    label = models.CharField(max_length=200, blank=True, help_text="The group, if one each.")
    is_follow_up = models.BooleanField(default=False)
    group_id = models.CharField(
        max_length=64, blank=True, help_text="The participant group of those whom it brings back."
    )
    prolific_id = models.CharField(max_length=64, unique=True, null=True)  # noqa: DJ001
    child_ids = models.JSONField(default=list, blank=True)
    status = models.CharField(max_length=40, blank=True)
    places = models.PositiveIntegerField(default=0)
    # The number of places before and after a request, stored before it is sent, so that places are
    # added only once, even after a crash.
    places_before = models.PositiveIntegerField(null=True, blank=True)
    places_wanted = models.PositiveIntegerField(null=True, blank=True)
    reward = models.PositiveIntegerField(default=0, help_text="Minor units.")
    currency = models.CharField(max_length=3, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    many_returns_at = models.DateTimeField(
        null=True, blank=True, help_text="When Prolific reported many returns; until seen to."
    )
    created_at = clock.MomentField(auto_now_add=True)

    objects = RecruitingManager()
    everything = models.Manager["ProlificStudy"]()

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "prolific studies"
        constraints = [
            models.UniqueConstraint(fields=["study", "label"], name="prolific_study_once_per_group")
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.status}"

    @property
    def paid_in(self) -> str:
        """The currency of its rewards and bonuses: the study's until Prolific has named one."""
        return self.currency or self.study.currency


class ProlificReservation(models.Model):
    """Money set aside on Prolific: for the places of publishing, or for places added later.

    `places_after` is the number of places including this reservation, so that a repeat stores no
    second row.
    """

    prolific_study = models.ForeignKey(
        ProlificStudy, on_delete=models.PROTECT, related_name="reservations"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    places = models.PositiveIntegerField()
    places_after = models.PositiveIntegerField()
    rewards = models.PositiveIntegerField(help_text="Minor units.")
    fees = models.PositiveIntegerField(null=True, help_text="With their tax, minor units.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["prolific_study", "places_after"], name="prolific_reservation_once"
            ),
            models.CheckConstraint(
                condition=Q(places__gt=0, places__lte=F("places_after")),
                name="prolific_reservation_places",
            ),
        ]

    def __str__(self) -> str:
        return f"reservation {self.pk}: {self.places}"


class ProlificSubmission(models.Model):
    """A copy of Prolific's data on one participant's submission."""

    # Statuses after which nothing is left to decide.
    FINAL = frozenset(
        {"APPROVED", "REJECTED", "RETURNED", "TIMED-OUT", "SCREENED OUT", "PARTIALLY APPROVED"}
    )

    prolific_study = models.ForeignKey(
        ProlificStudy, on_delete=models.PROTECT, related_name="submissions"
    )
    annotator = models.ForeignKey(
        Annotator,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="prolific_submissions",
    )
    submission_id = models.CharField(max_length=64, unique=True)
    participant = models.CharField(max_length=64, blank=True)
    status = models.CharField(max_length=40, blank=True)
    code = models.CharField(max_length=200, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    completed_at = models.DateTimeField(null=True, blank=True)
    return_requested_at = models.DateTimeField(null=True, blank=True)
    bonuses = models.JSONField(default=list, blank=True, help_text="Minor units, as paid there.")
    # A researcher has confirmed the approval; it is requested until Prolific shows it.
    approval_asked_at = models.DateTimeField(null=True, blank=True)
    # The last status applied to the annotator's part, so that an annotator who continues afterwards
    # is not stopped again.
    followed = models.CharField(max_length=40, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"submission {self.pk}: {self.status}"


class ProlificEvent(models.Model):
    """A received webhook, stored so that it is handled only once."""

    event_id = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=60)
    resource_id = models.CharField(max_length=64)
    workspace_id = models.CharField(
        max_length=64, blank=True, help_text="Whose secret signed it; empty for the installation's."
    )
    handled_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"


class BonusPayment(models.Model):
    """A payment of bonuses. Sending it twice would pay twice, so each step is stored first."""

    class State(models.TextChoices):
        PREPARED = "prepared", "prepared"
        READY = "ready", "ready to pay"
        SENT = "sent", "sent, not yet confirmed"
        PAID = "paid", "paid"
        CANCELLED = "cancelled", "cancelled"

    prolific_study = models.ForeignKey(
        ProlificStudy, on_delete=models.PROTECT, related_name="bonus_payments"
    )
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    state = models.CharField(max_length=10, choices=State, default=State.PREPARED)
    bulk_id = models.CharField(max_length=64, unique=True, null=True)  # noqa: DJ001
    total = models.PositiveIntegerField(default=0, help_text="With fees, in minor units.")
    fees = models.PositiveIntegerField(null=True, blank=True, help_text="Minor units.")
    tax = models.PositiveIntegerField(null=True, blank=True, help_text="Minor units.")
    sent_at = models.DateTimeField(null=True, blank=True)
    paid_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["prepared", "ready", "sent", "paid", "cancelled"]),
                name="bonus_payment_state",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["ready", "sent", "paid"]) | Q(bulk_id__isnull=False),
                name="bonus_payment_has_id",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["sent", "paid"]) | Q(sent_at__isnull=False),
                name="bonus_payment_sent_has_time",
            ),
        ]

    def __str__(self) -> str:
        return f"bonus payment {self.pk}: {self.state}"


class Bonus(models.Model):
    """One annotator's bonus in a payment, and their previous total when it was prepared."""

    payment = models.ForeignKey(BonusPayment, on_delete=models.PROTECT, related_name="lines")
    submission = models.ForeignKey(
        ProlificSubmission, null=True, on_delete=models.SET_NULL, related_name="bonus_lines"
    )
    amount = models.PositiveIntegerField(help_text="Minor units.")
    reason = models.CharField(max_length=200)
    # How many bonuses of this amount were paid before: the payment has arrived when there is one
    # more.
    before = models.JSONField(default=list)
    is_open = models.BooleanField(default=True, help_text="False once the payment is cancelled.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "bonuses"
        constraints = [
            # A second click, tab or user cannot pay the same bonus again.
            models.UniqueConstraint(
                fields=["submission", "reason"],
                condition=Q(is_open=True),
                name="bonus_once_per_reason",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="bonus_is_money"),
        ]

    def __str__(self) -> str:
        return f"bonus {self.pk}"
