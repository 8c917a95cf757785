"""Exports that were requested on a page."""

from django.db import models
from django.db.models import Q

from studies.jobs.models import Job
from studies.models.keys import public_id
from studies.models.studies import Study


class Export(Job):
    """One exported file, kept in the storage until it expires.

    The row is kept after the file is deleted: it records what was exported, when and by whom.
    """

    failure = "The export could not be written"
    unharmed = "Nothing was left behind."

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="exports")
    what = models.CharField(max_length=20)
    format = models.CharField(max_length=10)
    licence = models.CharField(max_length=20, blank=True)
    identified = models.BooleanField(default=False, help_text="With platform ids.")
    free_text = models.BooleanField(default=False, help_text="With what people wrote.")
    fresh_pseudonyms = models.BooleanField(
        default=False, help_text="With new names for annotators."
    )

    rows = models.JSONField(default=dict, help_text="Rows by table.")
    filename = models.CharField(max_length=120, blank=True)
    size = models.PositiveBigIntegerField(null=True, blank=True, help_text="Bytes.")
    sha256 = models.CharField(max_length=64, blank=True)

    class Meta(Job.Meta):
        constraints = [
            *Job.Meta.constraints,
            models.CheckConstraint(
                condition=~Q(state="done")
                | Q(size__isnull=False, finished_at__isnull=False, expires_at__isnull=False)
                & ~Q(filename="")
                & ~Q(sha256=""),
                name="export_done_has_file",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.study_id}: export of {self.what}, {self.created_at:%Y-%m-%d}"

    @property
    def names_people(self) -> bool:
        """Whether only an owner of the study can download it."""
        return self.identified or self.free_text
