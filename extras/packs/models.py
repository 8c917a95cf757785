"""Packs of a run, and the jobs that write packs and read replies."""

from django.db import models
from django.db.models import Q

from judging.models import JudgeRun
from studies.jobs.models import Job
from studies.models import public_id
from studies.statements import clock


class Pack(models.Model):
    """Questions of a run as files of requests: taken elsewhere by hand, or a provider's batch."""

    class State(models.TextChoices):
        PREPARED = "prepared", "being handed in"  # only of a batch
        WAITING = "waiting", "waiting for replies"
        READ = "read", "read"
        DISCARDED = "discarded", "discarded"
        FAILED = "failed", "failed"

    OPEN = (State.PREPARED, State.WAITING)

    # Also the lease of its judgments, and the name by which to find a batch at the provider after
    # a crash.
    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    run = models.ForeignKey(JudgeRun, on_delete=models.PROTECT, related_name="packs")
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    is_batch = models.BooleanField(default=False)
    provider_id = models.CharField(max_length=200, blank=True, help_text="Of a batch.")
    requests = models.PositiveIntegerField()
    most_nano = models.PositiveBigIntegerField(default=0, help_text="What it can cost at most.")
    most_tokens = models.PositiveBigIntegerField(default=0)
    answered = models.PositiveIntegerField(default=0)
    sentence = models.TextField(blank=True)
    busy_until = models.DateTimeField(
        null=True, blank=True, help_text="Some process hands the batch in, or collects it."
    )
    failing_since = models.DateTimeField(null=True, blank=True)
    submitted_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    written_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["written_at", "pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=["prepared", "waiting", "read", "discarded", "failed"]),
                name="pack_state",
            ),
            models.CheckConstraint(
                condition=Q(is_batch=False)
                | Q(state__in=["prepared", "failed"])
                | ~Q(provider_id=""),
                name="pack_known_to_provider",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.public_id}: {self.requests} requests of run {self.run_id}"


class PackJob(Job):
    """Work on the packs of a run; its files are in the storage."""

    class Kind(models.TextChoices):
        WRITE = "write", "writing a pack"
        READ = "read", "reading replies"

    failure = "The work on the pack failed"
    unharmed = "No reply was stored."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    run = models.ForeignKey(JudgeRun, on_delete=models.PROTECT, related_name="pack_jobs")
    kind = models.CharField(max_length=5, choices=Kind)
    files = models.JSONField(default=list, help_text="Names of the files.")
    faults = models.JSONField(default=list)

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(condition=Q(kind__in=["write", "read"]), name="packjob_kind"),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()} of run {self.run_id}"
