"""The data of every job: its state, its progress, and its last heartbeat."""

from datetime import timedelta

from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.statements import clock

# A worker sends a heartbeat every second; without one for this long it has died. Every worker looks
# for such jobs (config/celery.py) and restarts them within a minute.
STALLED_AFTER = timedelta(seconds=40)
# The message of a job that waits this long may be lost: it is sent again at this interval.
MESSAGE_AFTER = timedelta(seconds=40)
# A job that waits this long is stalled if a kind of worker is silent; otherwise all are busy.
WAITING_AFTER = timedelta(minutes=5)
WAITING = "Waiting for a worker."
STALLED = (
    "No worker is processing this: the worker was stopped, or no worker is running. The job starts "
    "again when a worker is free."
)


class Job(models.Model):
    """Work for a worker; `studies.jobs.runner` changes its state.

    queued → running → done or failed; done → gone when its files are deleted. A running job whose
    worker was killed goes back to queued. The row of a deleted file is kept as a record.
    """

    class State(models.TextChoices):
        QUEUED = "queued", "waiting for a worker"
        RUNNING = "running", "running"
        DONE = "done", "done"
        FAILED = "failed", "failed"
        GONE = "gone", "file deleted"

    OPEN = (State.QUEUED, State.RUNNING)

    # The sentence about an unexpected error begins with `failure` and ends with `unharmed`.
    failure: str
    unharmed: str

    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    progress = models.PositiveSmallIntegerField(default=0, help_text="Percent.")
    message = models.TextField(
        default=WAITING, help_text="What happens at the moment, what came out, or why it failed."
    )
    attempts = models.PositiveSmallIntegerField(default=0, help_text="Workers that started it.")
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = clock.MomentField(auto_now_add=True)
    heartbeat_at = clock.MomentField(
        default=clock.now, help_text="When its worker was last heard of, or it was queued."
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text="When its files are deleted. Empty: never."
    )

    class Meta:
        abstract = True
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["queued", "running", "done", "failed", "gone"]),
                name="%(class)s_state",
            ),
            models.CheckConstraint(
                condition=Q(progress__range=(0, 100)), name="%(class)s_progress"
            ),
            models.CheckConstraint(
                condition=~Q(state__in=["failed", "gone"]) | ~Q(message=""),
                name="%(class)s_end_says_why",
            ),
        ]

    @property
    def is_open(self) -> bool:
        """Whether it is still waiting or running."""
        return self.state in self.OPEN

    @property
    def is_stalled(self) -> bool:
        """Whether its worker was killed, or no worker is there to start it."""
        if self.state == self.State.RUNNING:
            return clock.is_long_ago(self.heartbeat_at, self.silence_limit)
        waits_long = self.is_open and clock.is_long_ago(self.heartbeat_at, WAITING_AFTER)
        return waits_long and not _workers_are_there()

    @property
    def may_have_lost_its_message(self) -> bool:
        """Whether to send its message again; an extra message does nothing."""
        return self.state == self.State.QUEUED and clock.is_long_ago(
            self.heartbeat_at, MESSAGE_AFTER
        )

    @property
    def silence_limit(self) -> timedelta:
        """The longest time between heartbeats while its worker is alive."""
        return STALLED_AFTER

    @property
    def sentence(self) -> str:
        """The sentence about the job on a page."""
        return STALLED if self.is_stalled else self.message


def _workers_are_there() -> bool:
    """Whether workers have been heard from, and none is silent now."""
    workers = apps.get_model("studies", "Heartbeat").objects.exclude(role="schedule")
    seen = list(workers.values_list("seen_at", flat=True))
    return bool(seen) and not any(clock.is_long_ago(moment, STALLED_AFTER) for moment in seen)
