"""Work of the Server page."""

from django.db import models
from django.db.models import Q

from studies.jobs.models import Job


class BackupJob(Job):
    """A backup that an administrator makes or restores on the Server page.

    It is in no backup and survives a restore, so it names no rows of other tables.
    """

    class Action(models.TextChoices):
        MAKE = "make", "backup"
        RESTORE = "restore", "restore"

    in_backups = False
    failure = "It could not be finished"
    unharmed = "The installation is as it was."

    requested_by = None
    user_name = models.CharField(max_length=150)
    action = models.CharField(max_length=10, choices=Action)
    file = models.TextField(help_text="On the worker's disk.")

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=Q(action__in=["make", "restore"]), name="backupjob_action"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.file}"
