"""The audit of a study’s items, findings that were accepted, and notes and tags of items."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.studies import Study
from studies.statements import clock


class Audit(Job):
    """The audit findings about a study's items. They can be recomputed at any time."""

    failure = "The items could not be audited"
    unharmed = "Your items are unchanged."

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="audit")
    fingerprint = models.CharField(max_length=64, blank=True, help_text="Of what was audited.")
    items = models.PositiveIntegerField(default=0)
    findings = models.JSONField(default=list, help_text="One for each check, in their order.")

    class Meta(Job.Meta):
        db_table = "analysis_audit"

    def __str__(self) -> str:
        return f"{self.study_id}: audit"


class AcceptedFinding(models.Model):
    """Why a study goes ahead despite a blocking finding."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="accepted_findings")
    check_name = models.CharField(max_length=60)
    reason = models.TextField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    accepted_at = clock.MomentField(auto_now_add=True)

    class Meta:
        db_table = "analysis_acceptedfinding"
        ordering = ["accepted_at", "pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["study", "check_name"], name="finding_accepted_once_per_study"
            ),
            models.CheckConstraint(condition=~Q(reason=""), name="accepted_finding_has_reason"),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.check_name}"


class ItemNote(models.Model):
    """The note on an item, one for all members of the study; `version` counts its changes."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="item_notes")
    item = models.OneToOneField("studies.Item", on_delete=models.CASCADE, related_name="note")
    text = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    changed_at = models.DateTimeField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        db_table = "analysis_itemnote"
        ordering = ["pk"]
        verbose_name_plural = "notes"

    def __str__(self) -> str:
        return f"note on item {self.item_id}"


class ItemTag(models.Model):
    """A tag of an item, in lower case."""

    note = models.ForeignKey(ItemNote, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        db_table = "analysis_itemtag"
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["note", "name"], name="item_tag_once"),
            models.CheckConstraint(condition=~Q(name=""), name="item_tag_has_name"),
        ]

    def __str__(self) -> str:
        return self.name
