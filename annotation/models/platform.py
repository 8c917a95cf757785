"""Ids of the recruiting platform, and what it says: all of it can be deleted by itself."""

from django.db import models

from annotation.models.people import Annotator
from studies.models import Study


class ProlificIdentity(models.Model):
    """The platform's ids of a person; deletable alone, and never part of an export by default."""

    annotator = models.OneToOneField(
        Annotator, on_delete=models.CASCADE, related_name="prolific_identity"
    )
    pid = models.CharField(max_length=64)
    study_id = models.CharField(max_length=64, blank=True)
    session_ids = models.JSONField(default=list, help_text="Every SESSION_ID seen, in order.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "prolific identities"

    def __str__(self) -> str:
        return f"identity of {self.annotator_id}"


class Invitation(models.Model):
    """An id that may enter a study whose entry is a list."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="invitations")
    key = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "key"], name="invitation_once_per_study")
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"


class ProlificStudy(models.Model):
    """What Prolific says of a study: a mirror, never the source of our own state."""

    study = models.OneToOneField(Study, on_delete=models.PROTECT, related_name="prolific_study")
    prolific_id = models.CharField(max_length=64, unique=True)
    status = models.CharField(max_length=40, blank=True)
    payload = models.JSONField(default=dict, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        verbose_name_plural = "prolific studies"

    def __str__(self) -> str:
        return f"{self.study_id}: {self.status}"


class ProlificSubmission(models.Model):
    """What Prolific says of one person's submission: a mirror."""

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
    status = models.CharField(max_length=40, blank=True)
    payload = models.JSONField(default=dict, blank=True)
    seen_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"submission {self.pk}: {self.status}"
