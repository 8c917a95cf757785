"""Exports that were asked for on a page: what, how far, and where the finished file is."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from studies.models import Study, public_id

# A worker gives a sign of life every second; one that is silent for this long is gone.
STALLED_AFTER = timedelta(minutes=2)
# An export that waits for so long is asked for again: the message may be lost, or no worker runs.
WAITING_AFTER = timedelta(minutes=5)


class Export(models.Model):
    """One file that somebody asked for; it lies in VAR_DIR/exports/<public_id>/ until it expires.

    The row stays when the file is gone: it says what left, when, and for whom.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "being written"
        DONE = "done", "ready"
        FAILED = "failed", "not written"
        GONE = "gone", "file deleted"

    OPEN = (State.QUEUED, State.RUNNING)

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exports")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    what = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    licence = models.CharField(max_length=20, blank=True)
    identified = models.BooleanField(default=False, help_text="With platform ids.")
    free_text = models.BooleanField(default=False, help_text="With what people wrote.")
    fresh_pseudonyms = models.BooleanField(default=False, help_text="Everybody named anew.")

    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.PositiveSmallIntegerField(default=0, help_text="Percent.")
    message = models.TextField(blank=True, help_text="What happens now, or why it failed.")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Workers that took it up.")
    rows = models.JSONField(default=dict, help_text="Rows by table.")
    filename = models.CharField(max_length=120, blank=True)
    size = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes.")
    sha256 = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed", "gone"]),
                name="export_state",
            ),
            models.CheckConstraint(condition=Q(progress__range=(0, 100)), name="export_progress"),
            models.CheckConstraint(
                condition=~Q(state="done")
                | Q(size__isnull=False, finished_at__isnull=False, expires_at__isnull=False)
                & ~Q(filename="")
                & ~Q(sha256=""),
                name="export_done_has_file",
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["failed", "gone"]) | ~Q(message=""),
                name="export_end_says_why",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: export of {self.what}, {self.created_at:%Y-%m-%d}"

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in self.OPEN

    @property
    def names_people(self) -> bool:
        """Whether only an owner of the study may have it."""
        return self.identified or self.free_text

    @property
    def is_waiting_long(self) -> bool:
        """Whether no worker has touched it for longer than workers are silent."""
        limit = STALLED_AFTER if self.state == self.State.RUNNING else WAITING_AFTER
        return self.is_open and timezone.now() - self.moved_at > limit
