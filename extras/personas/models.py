"""Texts about personas that a judge drafts from their earlier choices."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from judging.models.job_requests import FAILED, SENT, WAITING, WRITTEN, AskingJob, JobRequest
from studies.models import Persona, public_id


class DraftingJob(AskingJob):
    """A job that asks a judge about all personas with earlier choices."""

    failure = "Writing the profile texts failed"
    unharmed = "Texts that had arrived are kept."

    class Meta(AskingJob.Meta):
        pass

    def __str__(self) -> str:
        return f"profile texts of {self.study_id} by {self.judge_name}"


class DraftState(models.TextChoices):
    WAITING = WAITING, "not yet asked"
    SENT = SENT, "being asked"
    WRITTEN = WRITTEN, "to be reviewed"
    FAILED = FAILED, "no usable reply"
    ACCEPTED = "accepted", "accepted"
    REJECTED = "rejected", "rejected"


class ProfileDraft(JobRequest):
    """A judge's text about one persona, its cost, and the decision on it: accepted or rejected."""

    State = DraftState

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    job = models.ForeignKey(DraftingJob, on_delete=models.CASCADE, related_name="drafts")
    persona = models.ForeignKey(Persona, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    text = models.TextField(blank=True, help_text="As it was accepted.")
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    reviewed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(fields=["job", "persona"], name="one_draft_for_each_persona"),
            models.CheckConstraint(
                condition=Q(state__in=DraftState.values),
                name="profile_draft_state",
            ),
        ]
        indexes = [models.Index(fields=["job", "state"], name="profile_drafts_by_state")]

    def __str__(self) -> str:
        return f"{self.persona_id}: {self.state}"
