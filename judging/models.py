"""Who judges, in which runs, what was answered, and every request that was paid for."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from studies.models import Choice, Item, Side, Study, public_id

NANO = 10**9  # money is stored in billionths of a US dollar: whole numbers add up exactly


class Judge(models.Model):
    """A model that judges, and how it is reached."""

    class Backend(models.TextChoices):
        OPENAI = "openai", "OpenAI-compatible server"
        TRANSFORMERS = "transformers", "in-process transformers"
        REPLAY = "replay", "recorded answers"

    class Probabilities(models.TextChoices):
        NO = "no", "not asked for"
        BESIDE = "beside", "beside the reply"
        ONLY = "only", "instead of a reply"

    name = models.CharField(max_length=120, unique=True)
    backend = models.CharField(max_length=20, choices=Backend, default=Backend.OPENAI)
    model = models.CharField(max_length=200)
    base_url = models.CharField(max_length=500, blank=True)
    api_key_env = models.CharField(
        max_length=120, blank=True, help_text="Name of the environment variable with the key."
    )
    temperature = models.FloatField(
        default=0.7, validators=[MinValueValidator(0.0), MaxValueValidator(2.0)]
    )
    top_p = models.FloatField(
        default=0.95, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    max_tokens = models.PositiveIntegerField(default=1024, validators=[MinValueValidator(1)])
    thinking_tokens = models.PositiveIntegerField(
        default=0, help_text="Room for thinking, beside the tokens of the reply."
    )
    structured = models.BooleanField(
        default=False, help_text="Ask for the reply in a form that the server enforces."
    )
    probabilities = models.CharField(
        max_length=10,
        choices=Probabilities,
        default=Probabilities.NO,
        help_text="Whether to ask for the probability of each option.",
    )
    timeout_seconds = models.PositiveIntegerField(default=120, validators=[MinValueValidator(1)])
    outage_seconds = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1)],
        help_text="How long a run waits for a server that answers nothing useful.",
    )
    price_input = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million input tokens; empty means unknown, not free.",
    )  # fmt: skip
    price_output = models.DecimalField(
        max_digits=12, decimal_places=6, null=True, blank=True,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million output tokens; empty means unknown, not free.",
    )  # fmt: skip
    batch_price = models.DecimalField(
        max_digits=4, decimal_places=3, default=Decimal("0.5"),
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Share of the price that a request in a batch costs.",
    )  # fmt: skip
    concurrency = models.PositiveSmallIntegerField(default=16, validators=[MinValueValidator(1)])
    rpm = models.PositiveIntegerField(null=True, blank=True, help_text="Requests per minute.")
    tpm = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens per minute.")
    own_sources = models.JSONField(
        default=list,
        blank=True,
        help_text="Names, families or providers whose responses it must not judge.",
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=Q(backend__in=["openai", "transformers", "replay"]), name="judge_backend"
            ),
            models.CheckConstraint(
                condition=Q(probabilities__in=["no", "beside"])
                | Q(probabilities="only", backend="transformers"),
                name="judge_probabilities",
                violation_error_message=(
                    "Only --backend transformers gives probabilities instead of a reply; ask "
                    "other servers for them with --probabilities beside."
                ),
            ),
            models.CheckConstraint(
                condition=Q(temperature__range=(0, 2)) & Q(top_p__range=(0, 1)),
                name="judge_sampling",
            ),
            models.CheckConstraint(
                condition=Q(concurrency__gte=1)
                & Q(max_tokens__gte=1)
                & Q(timeout_seconds__gte=1)
                & Q(outage_seconds__gte=1),
                name="judge_limits_positive",
            ),
            models.CheckConstraint(
                condition=Q(batch_price__range=(0, 1)), name="judge_batch_price"
            ),
            models.CheckConstraint(
                condition=Q(structured=False) | Q(backend="openai"),
                name="judge_structured",
                violation_error_message="Only servers (--backend openai) enforce a form.",
            ),
            models.CheckConstraint(
                condition=Q(price_input=None, price_output=None)
                # A comparison with NULL is not false, and what is not false passes a CHECK.
                | Q(price_input__isnull=False, price_output__isnull=False)
                & Q(price_input__gte=0, price_output__gte=0),
                name="judge_both_prices_or_none",
                violation_error_message="Give both prices or none.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def is_priced(self) -> bool:
        return self.price_input is not None

    @property
    def batch_percent(self) -> str:
        return f"{(self.batch_price * 100).normalize():f}"


class SharedLimit(models.Model):
    """What the processes that ask one endpoint share, where there is no Redis to hold it."""

    endpoint = models.CharField(max_length=64, unique=True)
    document = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.endpoint


class JudgeRun(models.Model):
    """One judge over one study's items, with one set of parameters."""

    class Setting(models.TextChoices):
        STANDARD = "standard", "standard"
        CERTAINTY = "certainty", "certainty"
        TIE = "tie", "tie"

    class Orders(models.TextChoices):
        RANDOM = "random", "random"
        BOTH = "both", "both"
        R1_FIRST = "r1_first", "response 1 first"
        R2_FIRST = "r2_first", "response 2 first"

    class State(models.TextChoices):
        QUEUED = "queued", "queued"
        RUNNING = "running", "running"
        PAUSED = "paused", "paused"
        DONE = "done", "done"
        STOPPED_BUDGET = "stopped_budget", "stopped: budget"
        STOPPED_OUTAGE = "stopped_outage", "stopped: outage"
        CANCELLED = "cancelled", "cancelled"

    ACTIVE = (State.QUEUED, State.RUNNING)
    RESUMABLE = (State.PAUSED, State.STOPPED_OUTAGE, State.STOPPED_BUDGET)

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    key = models.CharField(max_length=64, unique=True, help_text="Hash of the parameters.")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="judge_runs")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    setting = models.CharField(max_length=20, choices=Setting, default=Setting.STANDARD)
    features = models.TextField(default="all", help_text="As asked for: all, none, a set or keys.")
    feature_keys = models.JSONField(null=True, blank=True, help_text="Empty means everything.")
    orders = models.CharField(max_length=10, choices=Orders, default=Orders.RANDOM)
    samples = models.PositiveSmallIntegerField(default=1)
    seed = models.BigIntegerField()
    is_imported = models.BooleanField(default=False)
    by_batch = models.BooleanField(default=False, help_text="Asked by files, at a lower price.")
    budget = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True, help_text="US dollars."
    )
    token_budget = models.PositiveBigIntegerField(null=True, blank=True)
    prompt_hash = models.CharField(max_length=64, blank=True)
    parameters = models.JSONField(
        default=dict, help_text="The judge as it was: model, sampling, server, software."
    )

    state = models.CharField(max_length=20, choices=State, default=State.QUEUED)
    sentence = models.TextField(blank=True, help_text="Why the run is in its state.")
    # Moved by the writer in the transaction that stores an attempt's outcome.
    spent_nano = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)
    retries = models.PositiveIntegerField(default=0, help_text="Requests without a reply.")
    touched_at = models.DateTimeField(null=True, blank=True, help_text="Last sign of a worker.")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(setting__in=["standard", "certainty", "tie"]), name="run_setting"
            ),
            models.CheckConstraint(
                condition=Q(orders__in=["random", "both", "r1_first", "r2_first"]),
                name="run_orders",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "queued", "running", "paused", "done", "stopped_budget", "stopped_outage",
                        "cancelled",
                    ]
                ),
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
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{self.judge_id} on {self.study_id}: {self.setting}, {self.features}"

    @property
    def spent(self) -> Decimal:
        return Decimal(self.spent_nano) / NANO

    @property
    def is_active(self) -> bool:
        return self.state in self.ACTIVE

    @property
    def is_resumable(self) -> bool:
        return self.state in self.RESUMABLE


class Campaign(models.Model):
    """Runs that one plan started: judges × settings × features × orders."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="campaigns")
    name = models.CharField(max_length=120)
    plan = models.JSONField(help_text="As it was read.")
    budget = models.DecimalField(
        max_digits=14, decimal_places=6, null=True, blank=True,
        help_text="US dollars, of all runs together.",
    )  # fmt: skip
    token_budget = models.PositiveBigIntegerField(null=True, blank=True)
    runs = models.ManyToManyField(JudgeRun, related_name="campaigns")
    created_at = models.DateTimeField(auto_now_add=True)

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
    """Judges whose verdicts are counted together, as one more judge of the report."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="juries")
    name = models.CharField(max_length=120)
    judges = models.ManyToManyField(Judge, related_name="juries")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        verbose_name_plural = "juries"
        constraints = [models.UniqueConstraint(fields=["study", "name"], name="jury_name_once")]

    def __str__(self) -> str:
        return self.name


class Batch(models.Model):
    """Questions of a run that were handed to a provider as one file."""

    class State(models.TextChoices):
        PREPARED = "prepared", "being handed in"
        SUBMITTED = "submitted", "with the provider"
        COLLECTED = "collected", "collected"
        FAILED = "failed", "failed"

    OPEN = (State.PREPARED, State.SUBMITTED)

    # Also the lease of its judgments, and what the provider is told, to find it after a crash.
    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    run = models.ForeignKey(JudgeRun, on_delete=models.PROTECT, related_name="batches")
    state = models.CharField(max_length=10, choices=State, default=State.PREPARED)
    provider_id = models.CharField(max_length=200, blank=True)
    requests = models.PositiveIntegerField()
    most_nano = models.PositiveBigIntegerField(default=0, help_text="What it can cost at most.")
    most_tokens = models.PositiveBigIntegerField(default=0)
    answered = models.PositiveIntegerField(default=0, help_text="As the provider counts.")
    sentence = models.TextField(blank=True)
    busy_until = models.DateTimeField(
        null=True, blank=True, help_text="Some process hands it in, or collects it, until then."
    )
    failing_since = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "pk"]
        verbose_name_plural = "batches"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["prepared", "submitted", "collected", "failed"]),
                name="batch_state",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["prepared", "failed"]) | ~Q(provider_id=""),
                name="batch_known_to_provider",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.public_id}: {self.requests} requests of run {self.run_id}"


class Judgment(models.Model):
    """One question to a judge: an item, in one order, asked for the n-th time."""

    class State(models.TextChoices):
        PENDING = "pending", "waiting"
        LEASED = "leased", "being asked"
        DONE = "done", "answered"
        UNPARSEABLE = "unparseable", "unparseable"
        REFUSED = "refused", "refused"
        SKIPPED = "skipped", "skipped"
        ERROR = "error", "error"

    OPEN = (State.PENDING, State.LEASED)

    run = models.ForeignKey(JudgeRun, on_delete=models.PROTECT, related_name="judgments")
    item = models.ForeignKey(Item, on_delete=models.PROTECT, related_name="judgments")
    shown_first = models.CharField(
        max_length=2, choices=Side, blank=True, help_text="Empty where a file did not say."
    )
    sample = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=12, choices=State, default=State.PENDING)
    choice = models.CharField(max_length=3, choices=Choice, blank=True)
    certainty = models.PositiveSmallIntegerField(null=True, blank=True)
    probabilities = models.JSONField(null=True, blank=True, help_text="{r1, r2, tie} when given.")
    raw_text = models.TextField(blank=True, help_text="The reply that decided.")
    replies = models.PositiveSmallIntegerField(default=0)
    model_snapshot = models.CharField(max_length=200, blank=True, help_text="As reported.")
    fingerprint = models.CharField(max_length=200, blank=True, help_text="As reported.")
    prompt_sha256 = models.CharField(max_length=64, blank=True)
    reused_from = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="reused_by",
        help_text="The answer of another run that this one took over.",
    )  # fmt: skip
    error = models.TextField(blank=True)
    lease = models.CharField(max_length=32, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "item", "shown_first", "sample"], name="judgment_once"
            ),
            models.UniqueConstraint(
                fields=["run", "reused_from"], name="judgment_no_answer_shared"
            ),
            models.CheckConstraint(
                condition=Q(shown_first__in=["r1", "r2", ""]), name="judgment_shown_first"
            ),
            models.CheckConstraint(condition=Q(sample__gte=1), name="judgment_sample_positive"),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "pending", "leased", "done", "unparseable", "refused", "skipped", "error",
                    ]
                ),
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
        ]  # fmt: skip
        indexes = [models.Index(fields=["run", "state", "id"], name="judgment_run_state")]

    def __str__(self) -> str:
        return f"run {self.run_id}, item {self.item_id}, {self.shown_first} first, {self.sample}"


class Attempt(models.Model):
    """One HTTP request, written before it is sent; what it cost, even when nobody answered."""

    class Outcome(models.TextChoices):
        SENT = "sent", "in flight"
        REPLIED = "replied", "replied"
        RATE_LIMITED = "rate_limited", "rate limited"
        SERVER_ERROR = "server_error", "server error"
        TIMEOUT = "timeout", "timeout"
        UNREACHABLE = "unreachable", "unreachable"
        INTERRUPTED = "interrupted", "connection lost"
        GARBAGE = "garbage", "not a chat completion"
        REJECTED = "rejected", "rejected"
        EXPIRED = "expired", "not answered by its batch"
        LOST = "lost", "lost with its worker"

    judgment = models.ForeignKey(Judgment, on_delete=models.PROTECT, related_name="attempts")
    number = models.PositiveIntegerField()
    outcome = models.CharField(max_length=12, choices=Outcome, default=Outcome.SENT)
    status_code = models.PositiveSmallIntegerField(null=True, blank=True)
    sent_at = models.DateTimeField()
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True, blank=True)
    completion_tokens = models.PositiveIntegerField(null=True, blank=True)
    reasoning_tokens = models.PositiveIntegerField(
        null=True, blank=True, help_text="Those of the completion that were thought."
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
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["judgment", "number"]
        constraints = [
            models.UniqueConstraint(fields=["judgment", "number"], name="attempt_number_once"),
            models.CheckConstraint(
                condition=Q(
                    outcome__in=[
                        "sent", "replied", "rate_limited", "server_error", "timeout",
                        "unreachable", "interrupted", "garbage", "rejected", "expired", "lost",
                    ]
                ),
                name="attempt_outcome",
            ),
            models.CheckConstraint(condition=Q(number__gte=1), name="attempt_number_positive"),
        ]  # fmt: skip
        indexes = [
            # Finds what a killed worker left in flight without reading the whole ledger.
            models.Index(
                fields=["judgment"], condition=Q(outcome="sent"), name="attempt_in_flight"
            ),
        ]

    def __str__(self) -> str:
        return f"judgment {self.judgment_id}, attempt {self.number}: {self.outcome}"
