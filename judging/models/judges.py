"""Models that judge, how they are reached, and what their workers share."""

from decimal import Decimal

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q


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
    concurrency = models.PositiveSmallIntegerField(
        default=64, validators=[MinValueValidator(1)], help_text="Requests at once, at most."
    )
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
