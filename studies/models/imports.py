"""Files that a worker imports."""

from datetime import timedelta

from django.db import connection, models

from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.models.studies import Study, Task

ROWS_READ = 99  # percent
# Storing the items is one transaction of minutes. Meanwhile SQLite lets no other connection write,
# so there is no heartbeat either.
STORING_SILENCE = timedelta(minutes=15)


class ImportJob(Job):
    """Large files of items that a worker imports; they are in VAR_DIR/imports until then."""

    failure = "The file could not be imported"
    unharmed = "Nothing was stored."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="imports")
    file_name = models.CharField(max_length=255)
    task = models.CharField(max_length=40, choices=Task)
    dry_run = models.BooleanField(default=False)
    reading = models.JSONField(default=dict, help_text="Files, format, options and seed.")
    faults = models.JSONField(default=list)
    report = models.JSONField(default=dict, help_text="Counts and first items.")

    class Meta(Job.Meta):
        pass

    def __str__(self) -> str:
        return f"{self.study_id}: {self.file_name}"

    @property
    def silence_limit(self) -> timedelta:
        is_storing = self.progress == ROWS_READ and connection.vendor == "sqlite"
        return STORING_SILENCE if is_storing else super().silence_limit
