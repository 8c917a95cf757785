"""Judgments, and every request and file of requests that was paid for."""

from datetime import datetime, timedelta

from django.db import models
from django.db.models import Q

from judging.backends import kinds
from judging.engine.messages import split_thoughts
from judging.models.runs import JudgeRun
from judging.protocols.statements import READ_AS
from studies.models import Choice, Item, Side
from studies.statements import clock


class SentParameters(models.Model):
    """The parameters of requests, other than prompt and seed; one row for each combination."""

    sha256 = models.CharField(max_length=64, unique=True)
    parameters = models.JSONField(
        help_text="As sent; in place of the seed's number it says that there was one."
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "sent parameters"

    def __str__(self) -> str:
        return self.sha256[:12]


def last_lease_of_workers() -> datetime:
    """Later leases are not a worker's:

    their questions wait for replies in files. A worker renews its own every few seconds.
    """
    return clock.now() + timedelta(hours=1)


class OrdinaryJudgments(models.Manager["Judgment"]):
    """The judgments that count, without those of questions that were asked again."""

    def get_queryset(self) -> models.QuerySet["Judgment"]:
        return super().get_queryset().filter(anchor="")


class JudgmentState(models.TextChoices):
    PENDING = "pending", "waiting"
    LEASED = "leased", "being asked"
    DONE = "done", "answered"
    UNPARSEABLE = "unparseable", "unparseable"
    REFUSED = "refused", "refused"
    SKIPPED = "skipped", "skipped"
    ERROR = "error", "error"


class JudgmentAnchor(models.TextChoices):
    START = "start", "at the start"
    END = "end", "at the end"
    AGAIN = "again", "asked again"


class Judgment(models.Model):
    """One question to a judge:

    an item in one order, asked for the n-th time. `objects`, `run.judgments` and `item.judgments`
    leave out what was asked again; `everything`, for workers and the ledger, includes them.
    """

    State = JudgmentState
    Anchor = JudgmentAnchor
    OPEN = (State.PENDING, State.LEASED)

    run = models.ForeignKey(JudgeRun, on_delete=models.PROTECT, related_name="judgments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judgments")
    shown_first = models.CharField(
        max_length=2, choices=Side, blank=True, help_text="Empty where a file did not say."
    )
    sample = models.PositiveSmallIntegerField(default=1)
    anchor = models.CharField(
        max_length=5,
        choices=Anchor,
        blank=True,
        help_text="When an anchor is asked; the sample then counts these times.",
    )
    state = models.CharField(max_length=12, choices=State, default=State.PENDING)
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    probabilities = models.JSONField(null=True, blank=True, help_text="{r1, r2, tie} when given.")
    details = models.JSONField(
        null=True, blank=True, help_text="What else the reply says, such as scores."
    )
    earlier_replies = models.JSONField(
        null=True, blank=True, help_text="To the steps before the last one."
    )
    raw_text = models.TextField(blank=True, help_text="The reply that decided.")
    replies = models.PositiveSmallIntegerField(default=0)
    model_snapshot = models.CharField(max_length=200, blank=True, help_text="As reported.")
    fingerprint = models.CharField(max_length=200, blank=True, help_text="As reported.")
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    sent_with = models.ForeignKey(
        SentParameters,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
        help_text="Of the request that brought the answer.",
    )
    reused_from = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="reused_by",
        help_text="The answer of another run that this one took over.",
    )
    asked_with = models.ForeignKey(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="shares",
        help_text="The judgment of the same set of options whose request answers this one too.",
    )
    error = models.TextField(blank=True)
    lease = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    objects = OrdinaryJudgments()
    everything = models.Manager["Judgment"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "item", "shown_first", "sample", "anchor"], name="judgment_once"
            ),
            models.CheckConstraint(
                condition=Q(anchor__in=["", *JudgmentAnchor.values]), name="judgment_anchor"
            ),
            models.UniqueConstraint(
                fields=["run", "reused_from"], name="judgment_no_answer_shared"
            ),
            models.CheckConstraint(
                condition=Q(shown_first__in=["r1", "r2", ""]), name="judgment_shown_first"
            ),
            models.CheckConstraint(condition=Q(sample__gte=1), name="judgment_sample_positive"),
            models.CheckConstraint(
                condition=Q(state__in=JudgmentState.values),
                name="judgment_state",
            ),
            models.CheckConstraint(
                condition=Q(state="done", choice__in=["r1", "r2", "tie"])
                | (~Q(state="done") & Q(choice="", certainty=None)),
                name="judgment_choice_iff_done",
            ),
            models.CheckConstraint(
                condition=Q(certainty=None) | Q(certainty__range=(1, 100)),
                name="judgment_certainty_range",
            ),
            models.CheckConstraint(
                condition=Q(state="leased", leased_until__isnull=False)
                | (~Q(state="leased") & Q(leased_until=None)),
                name="judgment_lease_iff_leased",
            ),
            models.CheckConstraint(condition=Q(replies__lte=5), name="judgment_replies_max"),
        ]
        indexes = [
            models.Index(fields=["run", "state", "id"], name="judgment_run_state"),
            models.Index(
                fields=["asked_with"],
                condition=Q(asked_with__isnull=False),
                name="judgment_shares",
            ),
            models.Index(
                fields=["run", "anchor", "state"],
                condition=~Q(anchor=""),
                name="judgment_anchors",
            ),
            models.Index(
                fields=["run", "answered_at"],
                condition=Q(answered_at__isnull=False),
                name="judgment_run_latest",
            ),
            # Finds answers to the same prompt in all studies; answers that were taken over have
            # the same source.
            models.Index(
                fields=["prompt_sha256"],
                condition=Q(state="done", reused_from=None),
                name="judgment_answers_by_prompt",
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id}, item {self.item_id}, {self.shown_first} first, {self.sample}"

    @property
    def thoughts(self) -> str:
        """What the model thought before its reply, apart from it."""
        return split_thoughts(self.raw_text)[0]

    @property
    def reply_text(self) -> str:
        """The reply without thoughts, which are not read."""
        return split_thoughts(self.raw_text)[1]

    @property
    def native_certainty(self) -> float | None:
        """100 × the probability of the choice, where a decision endpoint gave it; else None.

        It is no certainty that a model states, and is not pooled with those.
        """
        is_native = kinds.gives_only_probabilities(self.run.parameters.get("backend", ""))
        if not (is_native and self.choice and self.probabilities):
            return None
        return round(100 * float(self.probabilities[self.choice]), 4)

    @property
    def read_as(self) -> str:
        """What lenient reading accepted, in words; empty if the reply keeps to the format."""
        code = (self.details or {}).get("read", "")
        return READ_AS.get(code, code)


class AttemptOutcome(models.TextChoices):
    SENT = "sent", "in flight"
    REPLIED = "replied", "replied"
    RATE_LIMITED = "rate_limited", "rate limited"
    SERVER_ERROR = "server_error", "server error"
    TIMEOUT = "timeout", "timeout"
    UNREACHABLE = "unreachable", "unreachable"
    INTERRUPTED = "interrupted", "connection lost"
    GARBAGE = "garbage", "not a chat completion"
    REJECTED = "rejected", "rejected"
    FAILED = "failed", "failed here"
    EXPIRED = "expired", "not answered by its batch"
    LOST = "lost", "lost with its worker"


class Attempt(models.Model):
    """One HTTP request, stored before it is sent, with its cost even without an answer."""

    Outcome = AttemptOutcome

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=12, choices=Outcome, default=Outcome.SENT)
    status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    sent_at = models.DateTimeField()
    sent_with = models.ForeignKey(
        SentParameters,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        db_index=False,
        related_name="+",
    )
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Those of the completion that were thought."
    )
    cached_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Those of the prompt that the server had stored."
    )
    cost_nano = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Billionths of a US dollar; empty means unknown."
    )
    cost_is_estimate = models.BooleanField(
        default=False, help_text="The server told no usage: the most it can have cost."
    )
    text = models.TextField(blank=True, help_text="The reply as it came.")
    error = models.TextField(blank=True)
    request_id = models.CharField(max_length=200, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["judgment", "number"]
        constraints = [
            models.UniqueConstraint(fields=["judgment", "number"], name="attempt_number_once"),
            models.CheckConstraint(
                condition=Q(outcome__in=AttemptOutcome.values),
                name="attempt_outcome",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="attempt_number_positive"),
        ]
        indexes = [
            # Finds requests that a killed worker left in progress, without reading the whole
            # ledger.
            models.Index(
                fields=["judgment"], condition=Q(outcome="sent"), name="attempt_in_flight"
            ),
        ]

    def __str__(self) -> str:
        return f"judgment {self.judgment_id}, attempt {self.number}: {self.outcome}"

    @property
    def thoughts(self) -> str:
        """What the model thought before its reply, apart from it."""
        return split_thoughts(self.text)[0]

    @property
    def reply_text(self) -> str:
        """The reply without thoughts, which are not read."""
        return split_thoughts(self.text)[1]
