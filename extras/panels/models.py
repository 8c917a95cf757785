"""Panels of a study, the people whom they sent, and the files by which these are paid."""

from django.conf import settings
from django.core.validators import MaxValueValidator, RegexValidator
from django.db import models
from django.db.models import Q

from annotation.models import Annotator
from extras.panels.presets import Preset, presets
from studies.models import Study
from studies.statements import clock

PARAMETER = RegexValidator(
    r"\A[A-Za-z][A-Za-z0-9_.-]*\Z",
    "Use letters, digits, dots, - and _, and begin with a letter.",
)


def _parameter(label: str, **options: object) -> "models.CharField[str, str]":
    return models.CharField(label, max_length=40, validators=[PARAMETER], **options)  # type: ignore[arg-type]


def _address(label: str) -> "models.CharField[str, str]":
    return models.CharField(label, max_length=500, blank=True)


class Panel(models.Model):
    """A panel that sends people to a study, and how they go back and are paid."""

    class Signature(models.TextChoices):
        NONE = "", "Not checked"
        SHA1 = "sha1", "HMAC-SHA1 of the whole address"
        SHA256 = "sha256", "HMAC-SHA256 of the whole address"

    class Pay(models.TextChoices):
        CODES = "codes", "By the code that people enter at the panel"
        FILE = "file", "By a file that you upload to the panel"
        NOTHING = "nothing", "By the panel itself, once people are back"

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="panels")
    name = models.SlugField("Short name", max_length=40)
    title = models.CharField("Name that people see", max_length=80)
    preset = models.CharField("Kind of panel", max_length=20)
    person_parameter = _parameter("Parameter of the person")
    study_parameter = _parameter("Parameter of the study", blank=True)
    session_parameter = _parameter("Parameter of the session", blank=True)
    requires_study = models.BooleanField("The parameter of the study is required", default=False)
    requires_session = models.BooleanField(
        "The parameter of the session is required", default=False
    )
    complete = _address("Complete")
    screened_out = _address("Screened out")
    over_quota = _address("Over quota")
    failed = _address("Failed checks")
    withdrew = _address("Withdrew or stopped")
    complete_code = models.CharField("Code of the panel", max_length=64, blank=True)
    signature = models.CharField("Signature", max_length=10, choices=Signature, blank=True)
    signature_parameter = _parameter("Parameter of the signature", blank=True)
    signs_returns = models.BooleanField("Sign return addresses too", default=False)
    sealed_secret = models.TextField(blank=True, editable=False, help_text="Encrypted.")
    pay = models.CharField("How people are paid", max_length=10, choices=Pay)
    reward = models.PositiveIntegerField("Pay", help_text="Minor units.")
    fee_percent = models.DecimalField(
        "Fee of the panel, in percent of the pay",
        max_digits=5,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MaxValueValidator(500)],
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="panel_once_per_study"),
            models.CheckConstraint(
                condition=Q(pay__in=["codes", "file", "nothing"]), name="panel_pay"
            ),
            models.CheckConstraint(
                condition=Q(signature="") | ~Q(sealed_secret="") & ~Q(signature_parameter=""),
                name="panel_signature_has_secret",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.name}"

    @property
    def kind(self) -> Preset:
        """The preset; one that this version no longer has is read as any panel."""
        return presets().get(self.preset) or presets()["generic"]

    @property
    def namespace(self) -> str:
        """Whose ids its people have: those of a platform, or of a company by its short name."""
        return self.preset if self.kind.shared_ids else f"{self.preset} {self.name}"


class PaymentFile(models.Model):
    """A file by which people of a panel are paid. Nobody is in two, and its sums stay."""

    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="payment_files")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    people = models.PositiveIntegerField()
    rewards = models.PositiveIntegerField(help_text="Minor units.")
    fees = models.PositiveIntegerField(null=True, help_text="Minor units; empty if not known.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(condition=Q(people__gt=0), name="payment_file_has_people")
        ]

    def __str__(self) -> str:
        return f"payment file {self.pk}: {self.people}"


class PanelPerson(models.Model):
    """An annotator whom a panel sent, and the panel's ids, which can be deleted separately."""

    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, related_name="panel_person"
    )
    panel = models.ForeignKey(Panel, on_delete=models.PROTECT, related_name="people")
    person = models.CharField(max_length=128, blank=True)
    study_reference = models.CharField(max_length=128, blank=True)
    sessions = models.JSONField(default=list, help_text="Every session id seen, in order.")
    submit_to = models.CharField(max_length=100, blank=True, help_text="A host of the panel.")
    is_framed = models.BooleanField(default=False, help_text="The panel shows its task in a frame.")
    is_signed = models.BooleanField(default=False, help_text="They came by a signed link.")
    payment_file = models.ForeignKey(
        PaymentFile, null=True, blank=True, on_delete=models.PROTECT, related_name="lines"
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "people of panels"

    def __str__(self) -> str:
        return f"annotator {self.annotator_id} of panel {self.panel_id}"

    @property
    def session(self) -> str:
        """The newest session id."""
        return self.sessions[-1] if self.sessions else ""
