"""Wordings of prompts that belong to a study."""

from django.db import models

from judging.protocols import registry
from studies.models import Study, public_id
from studies.statements import clock


class PromptTemplate(models.Model):
    """One version of a study's own wording; its text does not change once a run has used it.

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
        """How commands and campaign plans name it."""
        return f"{self.name}@{self.version}"
