"""Packs that a page asks a worker to write, and replies that it hands over."""

from django.db import models
from django.db.models import Q

from judging.models.runs import JudgeRun
from studies.jobs.models import Job
from studies.models import public_id


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
