"""Files that a worker imports."""

from datetime import timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from studies.models.keys import public_id
from studies.models.studies import Study, Task

# A job that has not moved for this long lost its worker: one that waits, or whose items are being
# stored, which takes some minutes in one transaction; and one whose rows are being read, which
# moves twice a second.
IMPORT_STALLED_AFTER = timedelta(minutes=15)
READING_STALLED_AFTER = timedelta(minutes=2)
ROWS_READ = 99  # percent


class ImportJob(models.Model):
    """Large files of items that a worker imports; they lie in VAR_DIR/imports until then."""

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "being read"
        DONE = "done", "done"
        REFUSED = "refused", "not imported"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imports")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    file_name = models.CharField(max_length=255)
    task = models.CharField(max_length=40, choices=Task)
    dry_run = models.BooleanField(default=False)
    reading = models.JSONField(default=dict, help_text="Files, format, options and seed.")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.PositiveSmallIntegerField(default=0, help_text="Percent of the rows read.")
    message = models.TextField(blank=True, help_text="What came out.")
    faults = models.JSONField(default=list)
    report = models.JSONField(default=dict, help_text="Counts and first items.")
    created_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "refused"]),
                name="import_job_state",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running"]) | ~Q(message=""),
                name="import_job_says_what_came_out",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: {self.file_name}"

    @property
    def is_open(self) -> bool:
        """Whether a worker has it, or will."""
        return self.state in {self.State.QUEUED, self.State.RUNNING} and not self.is_stalled

    @property
    def is_storing(self) -> bool:
        """Whether all rows were read, and their items are on the way into the database."""
        return self.state == self.State.RUNNING and self.progress == ROWS_READ

    @property
    def is_stalled(self) -> bool:
        """Whether it stopped moving: the worker was killed, or none is running."""
        reading = self.state == self.State.RUNNING and not self.is_storing
        unfinished = self.state in {self.State.QUEUED, self.State.RUNNING}
        limit = READING_STALLED_AFTER if reading else IMPORT_STALLED_AFTER
        return unfinished and timezone.now() - self.moved_at > limit
