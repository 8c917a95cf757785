"""Files that a worker imports."""

from datetime import timedelta

from django.conf import settings
from django.db import connection, models

from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.models.studies import Study, Task
from studies.statements import clock

ROWS_READ = 99  # percent
# Storing the items is one transaction of minutes. Meanwhile SQLite lets no other connection write,
# so there is no heartbeat either.
STORING_SILENCE = timedelta(minutes=15)


class ImportJob(Job):
    """Large files of items that a worker imports; the storage keeps them until then."""

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


class Upload(models.Model):
    """Files whose columns an editor maps to the fields of an item, in the storage until then.

    Afterwards the row keeps the mapping for the next file with the same columns.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="uploads")
    files = models.JSONField(help_text="Names of the files.")
    columns_hash = models.CharField(max_length=64)
    mapping = models.JSONField()
    task = models.CharField(max_length=40, choices=Task)
    replace = models.PositiveIntegerField(
        null=True, blank=True, help_text="The number of items that the import replaces."
    )
    requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    created_at = clock.MomentField(auto_now_add=True)
    imported_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["study", "columns_hash"], name="upload_by_columns")]

    def __str__(self) -> str:
        return f"{self.study_id}: {', '.join(self.files)}"
