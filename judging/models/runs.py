"""Runs, campaigns, juries, and wordings of their prompts."""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from judging.models.judges import Judge
from judging.protocols import framings, registry
from studies.models import Study, public_id
from studies.statements import clock


class PromptTemplate(models.Model):
    """One version of a study's wording; its text is fixed once a run has used it.

    A wording can have either text or both; a judge with a profile gets `template`.
    """

    class Source(models.TextChoices):
        WRITTEN = "written", "written"
        RECOVERED = "recovered", "recovered from a file"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prompt_templates")
    name = models.CharField(max_length=60)
    version = models.PositiveSmallIntegerField(default=1)
    setting = models.CharField(
        max_length=20,
        choices=registry.choices,
        default=registry.DEFAULT,
        help_text="The judging protocol that reads the replies.",
    )
    template = models.TextField(blank=True, help_text="The prompt, with its slots.")
    template_without_persona = models.TextField(
        blank=True, help_text="The prompt of a judge that sees nothing of the persona."
    )
    exact_texts = models.JSONField(
        default=dict, blank=True, help_text="Texts of items as a released file spells them."
    )
    sha256 = models.CharField(max_length=64)
    source = models.CharField(max_length=10, choices=Source, default=Source.WRITTEN)
    note = models.TextField(blank=True)
    frozen_at = models.DateTimeField(null=True, blank=True, help_text="The first judgment.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["name", "version"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "name", "version"], name="wording_version_once"
            ),
            models.CheckConstraint(
                condition=models.Q(version__gte=1), name="wording_version_positive"
            ),
            models.CheckConstraint(
                condition=models.Q(source__in=["written", "recovered"]), name="wording_source"
            ),
            models.CheckConstraint(
                condition=~models.Q(template="", template_without_persona=""),
                name="wording_has_text",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (version {self.version})"

    @property
    def reference(self) -> str:
        """Its name in commands and campaign plans."""
        return f"{self.name}@{self.version}"


NANO = 10**9  # money is stored in billionths of a US dollar: whole numbers add up exactly


class RunOrders(models.TextChoices):
    RANDOM = "random", "random"
    BOTH = "both", "both"
    R1_FIRST = "r1_first", "response 1 first"
    R2_FIRST = "r2_first", "response 2 first"


class RunState(models.TextChoices):
    QUEUED = "queued", "queued"
    RUNNING = "running", "running"
    PAUSED = "paused", "paused"
    DONE = "done", "done"
    STOPPED_BUDGET = "stopped_budget", "stopped: budget"
    STOPPED_OUTAGE = "stopped_outage", "stopped: outage"
    CANCELLED = "cancelled", "cancelled"


class JudgeRun(models.Model):
    """One judge over one study's items, with one set of parameters."""

    Orders = RunOrders
    State = RunState

    class Reading(models.TextChoices):
        STRICT = "strict", "strict"
        LENIENT = "lenient", "lenient"

    ACTIVE = (State.QUEUED, State.RUNNING)
    RESUMABLE = (State.PAUSED, State.STOPPED_OUTAGE, State.STOPPED_BUDGET)
    # Events of the study's log. Logs of existing studies contain these texts.
    LEFT_OUT, TAKEN_BACK = "judge run not for the report", "judge run for the report"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    key = models.CharField(max_length=64, unique=True, help_text="Hash of the parameters.")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="judge_runs")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    setting = models.CharField(
        max_length=20,
        choices=registry.choices,
        default=registry.DEFAULT,
        help_text="The judging protocol.",
    )
    features = models.TextField(default="all", help_text="As asked for: all, none, a set or keys.")
    feature_keys = models.JSONField(null=True, blank=True, help_text="Empty means everything.")
    wording = models.ForeignKey(
        PromptTemplate,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="runs",
        help_text="The study's own wording; empty means that of the protocol.",
    )
    framing = models.CharField(max_length=20, choices=framings.choices, default=framings.OBSERVER)
    bias_probe = models.CharField(
        max_length=60, blank=True, help_text="How prompts are changed to measure a bias."
    )
    prompt_language = models.CharField(max_length=10, default="en")
    reading = models.CharField(
        max_length=10,
        choices=Reading,
        default=Reading.LENIENT,
        help_text="How replies are read that do not keep to the form.",
    )
    discusses = models.JSONField(
        default=list, blank=True, help_text="Ids of the runs whose replies are shown."
    )
    orders = models.CharField(max_length=10, choices=Orders, default=Orders.RANDOM)
    samples = models.PositiveSmallIntegerField(default=1)
    seed = models.BigIntegerField()
    is_imported = models.BooleanField(default=False)
    by_batch = models.BooleanField(default=False, help_text="Asked by files, at a lower price.")
    probe_first = models.BooleanField(
        default=False, help_text="Asks one question, and no other until somebody has said yes."
    )
    in_report = models.BooleanField(
        default=True, db_default=True, help_text="Off for a try-out, which no report uses."
    )
    budget = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, help_text="US dollars."
    )
    token_budget = models.PositiveBigIntegerField(null=True, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    words = models.JSONField(
        default=dict,
        db_default={},
        blank=True,
        help_text="Every text that the model is sent, other than those of items.",
    )
    parameters = models.JSONField(
        default=dict, help_text="The judge as it was: model, sampling, server, software."
    )

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    sentence = models.TextField(blank=True, help_text="Why the run is in its state.")
    # Changed by the writer in the transaction that stores an attempt's outcome.
    spent_nano = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0, help_text="Requests without a reply.")
    touched_at = models.DateTimeField(null=True, blank=True, help_text="Last sign of a worker.")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(orders__in=RunOrders.values),
                name="run_orders",
            ),
            models.CheckConstraint(
                condition=Q(state__in=RunState.values),
                name="run_state",
            ),
            models.CheckConstraint(condition=Q(samples__gte=1), name="run_samples_positive"),
            models.CheckConstraint(
                condition=Q(budget=None) | Q(budget__gt=0), name="run_budget_positive"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"]) | ~Q(sentence=""),
                name="run_end_has_sentence",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.study_id}: {self.setting}, {self.features}"

    @property
    def spent(self) -> Decimal:
        return Decimal(self.spent_nano) / NANO

    @property
    def unpriced_tokens(self) -> int:
        """Tokens used before the judge had a price, which `spent` leaves out."""
        return int(self.parameters.get("unpriced_tokens", 0))

    @property
    def later_base_urls(self) -> list[str]:
        """Addresses added to its judge while the run could still continue."""
        return list(self.parameters.get("later_base_urls", []))

    @property
    def is_billed(self) -> bool:
        """Whether a price was known for any of its requests."""
        is_unknown = self.unpriced_tokens and self.unpriced_tokens >= self.tokens
        is_known = self.judge.is_priced or self.spent_nano > 0  # some servers state what they bill
        return is_known and not self.is_imported and not is_unknown

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def is_resumable(self) -> bool:
        return self.state in self.RESUMABLE

    @property
    def awaits_yes(self) -> bool:
        """Whether it is sending its test question, or waits for a user to start it afterwards."""
        return self.probe_first and self.state != self.State.CANCELLED

    @property
    def state_words(self) -> str:
        """The state in words, for pages."""
        probing = {
            self.State.QUEUED: "test question queued",
            self.State.RUNNING: "sending test question",
            self.State.PAUSED: "waiting to start",
            self.State.CANCELLED: "not started",
        }
        of_probe = probing.get(self.State(self.state)) if self.probe_first else None
        return of_probe or self.get_state_display()


class Campaign(models.Model):
    """Runs that one plan started: judges × settings × features × orders.

    Without a plan, it only holds a budget shared by runs of several studies, and no page shows it.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=120)
    plan = models.JSONField(help_text="As it was read.")
    budget = models.DecimalField(
        max_digits=14,
        decimal_places=6,
        null=True,
        blank=True,
        help_text="US dollars, of all runs together.",
    )
    token_budget = models.PositiveBigIntegerField(null=True, blank=True)
    runs = models.ManyToManyField(JudgeRun, related_name="campaigns")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="campaign_name_once"),
            models.CheckConstraint(
                condition=Q(budget=None) | Q(budget__gt=0), name="campaign_budget_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Jury(models.Model):
    """Judges whose verdicts are counted together, as another judge of the report."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="juries")
    name = models.CharField(max_length=120)
    judges = models.ManyToManyField(Judge, related_name="juries")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "juries"
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="jury_name_once")]

    def __str__(self) -> str:
        return self.name
