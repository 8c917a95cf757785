"""Judges, how to reach them, and state shared by workers."""

from datetime import date
from decimal import Decimal
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from judging.backends import kinds
from judging.backends.backend import (
    INSTEAD_OF_REPLY,
    NO_PROBABILITIES,
    WITH_REPLY,
    Capabilities,
    is_own_network,
)
from judging.backends.known_models import price_remark
from judging.backends.presets import public_price
from judging.errors import ConflictingValue, FailureReason, FieldError
from studies.models import Study
from studies.statements import clock

# Fields of a judge that affect answers; a run's parameters keep their values.
SAMPLED = (
    "backend",
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "thinking_tokens",
    "structured",
    "probabilities",
)
MOST_SLOTS = 192  # of a server whose response times decide
USUAL_SLOTS = 64

_NO_FORM = FailureReason(
    "not_structured",
    "{field} cannot be used with the backend {backend}: it enforces no form of a reply.",
)
_NO_SUCH_PROBABILITIES = FailureReason(
    "no_such_probabilities",
    "The backend {backend} cannot give option probabilities as “{value}”. Use {field} with one of: "
    "{ways}.",
)


class Judge(models.Model):
    """A model that judges, and how to reach it."""

    class Probabilities(models.TextChoices):
        NO = NO_PROBABILITIES, "not requested"
        WITH = WITH_REPLY, "next to the reply"
        ONLY = INSTEAD_OF_REPLY, "instead of a reply"

    name = models.CharField(max_length=120, unique=True)
    backend = models.CharField(max_length=20, choices=kinds.choices, default=kinds.DEFAULT)
    model = models.CharField(max_length=200)
    base_url = models.CharField(max_length=500, blank=True)
    more_base_urls = models.JSONField(
        default=list, blank=True, help_text="Other addresses of the same model."
    )
    api_key_env = models.CharField(
        max_length=120, blank=True, help_text="Name of the environment variable with the key."
    )
    sealed_key = models.TextField(
        blank=True, editable=False, help_text="The key that was entered on a page, encrypted."
    )
    key_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="Who entered the stored key, whose studies may use it.",
    )
    sealed_headers = models.TextField(
        blank=True, editable=False, help_text="The values of secret headers, encrypted."
    )
    temperature = models.FloatField(
        default=0.7, validators=[MinValueValidator(0.0), MaxValueValidator(2.0)]
    )
    top_p = models.FloatField(
        default=0.95, validators=[MinValueValidator(0.0), MaxValueValidator(1.0)]
    )
    max_tokens = models.PositiveIntegerField(default=1024, validators=[MinValueValidator(1)])
    thinking_tokens = models.PositiveIntegerField(
        default=0, help_text="Tokens for thinking, in addition to those of the reply."
    )
    structured = models.BooleanField(
        null=True,
        blank=True,
        help_text="Ask for the reply in a form that the server enforces; empty: where it can.",
    )
    reply_form = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text="The way in which a test got structured replies, and when.",
    )
    test_problem = models.CharField(
        max_length=200,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="What failed in the last test; empty if it passed or there was none.",
    )
    probabilities = models.CharField(
        max_length=10,
        choices=Probabilities,
        default=Probabilities.NO,
        help_text="Whether to ask for the probability of each option.",
    )
    takes_images = models.BooleanField(
        default=False, db_default=False, help_text="Whether the model sees pictures."
    )
    takes_audio = models.BooleanField(
        default=False, db_default=False, help_text="Whether the model hears sounds."
    )
    timeout_seconds = models.PositiveIntegerField(default=120, validators=[MinValueValidator(1)])
    outage_seconds = models.PositiveIntegerField(
        default=120,
        validators=[MinValueValidator(1)],
        help_text="How long a run waits for a server that answers nothing useful.",
    )
    price_input = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million input tokens; empty means unknown, not free.",
    )
    price_output = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million output tokens; empty means unknown, not free.",
    )
    price_cached_input = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        help_text="US dollars per million cached input tokens; empty: they cost like the others.",
    )
    price_day = models.DateField(
        null=True,
        blank=True,
        help_text="The day on which these prices were read; empty means unknown.",
    )
    batch_price = models.DecimalField(
        max_digits=4,
        decimal_places=3,
        default=Decimal("0.5"),
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text="Share of the price that a request in a batch costs.",
    )
    concurrency = models.PositiveSmallIntegerField(
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Requests at once, at most; empty: as many as its response times allow.",
    )
    rpm = models.PositiveIntegerField(null=True, blank=True, help_text="Requests per minute.")
    tpm = models.PositiveIntegerField(null=True, blank=True, help_text="Tokens per minute.")
    model_options = models.JSONField(
        default=dict, blank=True, help_text="How a local model is loaded and asked."
    )
    own_sources = models.JSONField(
        default=list,
        blank=True,
        help_text="Names, families or providers whose responses it must not judge.",
    )
    is_own_server = models.BooleanField(
        default=False,
        help_text="Its server is ours: nobody else receives what is sent there.",
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        help_text="Empty if a command added it.",
    )
    is_retired = models.BooleanField(default=False, help_text="Not offered for new runs.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            # `clean` checks which backends exist and what each can do, so that another
            # backend needs no migration.
            models.CheckConstraint(
                condition=Q(probabilities__in=["no", "beside", "only"]), name="judge_probabilities"
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
                condition=Q(price_input=None, price_output=None)
                # A comparison with NULL is not false, and a CHECK accepts all that is not false.
                | Q(price_input__isnull=False, price_output__isnull=False)
                & Q(price_input__gte=0, price_output__gte=0),
                name="judge_both_prices_or_none",
                violation_error_message="Give both prices or none.",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        try:
            self.check_capabilities()
        except FieldError as error:
            raise ValidationError({error.field: str(error)}) from None

    def check_capabilities(self) -> None:
        """Raise `ConflictingValue` if the judge's settings do not fit its backend."""
        capabilities = self.capabilities
        if self.structured and not capabilities.structured:
            raise ConflictingValue("structured", _NO_FORM, backend=self.backend)
        if self.probabilities not in {NO_PROBABILITIES, *capabilities.probabilities}:
            ways = sorted({NO_PROBABILITIES, *capabilities.probabilities})
            raise ConflictingValue(
                "probabilities",
                _NO_SUCH_PROBABILITIES,
                backend=self.backend,
                value=self.probabilities,
                ways=", ".join(ways),
            )

    @property
    def capabilities(self) -> Capabilities:
        return kinds.backend_kind(self.backend).capabilities

    @property
    def base_urls(self) -> list[str]:
        """All addresses of the model."""
        return [self.base_url, *self.more_base_urls]

    @property
    def providers(self) -> list[str]:
        """Other parties' hosts that receive this judge's questions."""
        if self.is_own_server or not self.capabilities.needs_endpoint:
            return []
        away = [address for address in self.base_urls if not is_own_network(address)]
        return [urlsplit(address).hostname or address for address in away]

    @property
    def slots(self) -> int:
        """Maximum concurrent requests at one address."""
        if self.concurrency is not None:
            return self.concurrency
        return MOST_SLOTS if self.capabilities.needs_endpoint else USUAL_SLOTS

    @property
    def most_at_once(self) -> int:
        """Maximum concurrent requests over all addresses."""
        return self.slots * len(self.base_urls)

    @property
    def is_priced(self) -> bool:
        return self.price_input is not None

    @property
    def price_remark(self) -> str:
        """What to know about the price before one relies on it; empty if it is recent or free."""
        return self.price_remark_on(clock.now().date())

    def price_remark_on(self, day: date) -> str:
        """What there was to know about the price on a day."""
        if not (self.price_input or self.price_output):
            return ""
        public = public_price(self.base_url, self.model)
        return price_remark(
            self.price_day,
            today=day,
            until=public.until if public and public.day == self.price_day else None,
            source=public.source if public else "",
        )

    @property
    def named_price_remark(self) -> str:
        """The remark with the judge's name, for costs of several; empty if there is none."""
        return f"{self.name}: {self.price_remark}" if self.price_remark else ""

    @property
    def batch_percent(self) -> str:
        return f"{(self.batch_price * 100).normalize():f}"


class StudyJudge(models.Model):
    """A judge in the design of a study, whether or not a run uses it."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="design_judges")
    judge = models.ForeignKey(Judge, on_delete=models.CASCADE, related_name="design_studies")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "judge"], name="judge_once_in_a_design")
        ]

    def __str__(self) -> str:
        return f"{self.judge_id} in the design of {self.study_id}"


class SharedLimit(models.Model):
    """State shared by processes that ask the same endpoint, if there is no Redis."""

    endpoint = models.CharField(max_length=64, unique=True)
    document = models.JSONField(default=dict)
    created_at = clock.MomentField(auto_now_add=True)

    def __str__(self) -> str:
        return self.endpoint
