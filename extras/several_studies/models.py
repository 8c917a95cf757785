"""Reports about several studies, each for the person who asked for it."""

from django.db import models

from studies.jobs.models import Job
from studies.models import public_id


class StudiesReport(Job):
    """A folder with a report of each study and tables of all; its files are in the storage."""

    failure = "The report could not be built"
    unharmed = "Your studies are unchanged."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    slugs = models.JSONField(default=list, help_text="Short names of the studies, oldest first.")
    is_pooled = models.BooleanField(default=False, help_text="With one report of all answers.")
    content_security_policy = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"report {self.public_id} about several studies"
