"""Files that are kept in the database, and where an installation keeps its files."""

from django.db import models
from django.db.models import Q

from studies.statements import clock


class StoredFile(models.Model):
    """A file, if the setting FILES is `database`. Without a kind it is being written."""

    kind = models.CharField(max_length=20, blank=True, help_text="reports, exports, imports, …")
    owner = models.CharField(max_length=100, help_text="The public id of the row it belongs to.")
    path = models.CharField(max_length=500)
    size = models.PositiveBigIntegerField(default=0, help_text="Bytes.")
    created_at = clock.MomentField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "owner", "path"], name="storedfile_name"),
            models.CheckConstraint(condition=~Q(owner="") & ~Q(path=""), name="storedfile_named"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.owner}/{self.path}"


class StoredBlock(models.Model):
    """The bytes of a file from `number` times the size of a block."""

    file = models.ForeignKey(StoredFile, on_delete=models.CASCADE, related_name="blocks")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["file", "number"], name="storedblock_number"),
        ]

    def __str__(self) -> str:
        return f"block {self.number} of file {self.file_id}"


class FilesLocation(models.Model):
    """The one place where every process of the installation keeps files; at most one row.

    The first process that starts notes its own, and one that has another is refused.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    location = models.CharField(max_length=500, help_text="The storage, or the id of a folder.")
    shown = models.CharField(max_length=500, help_text="The machine and its folder, for people.")
    noted_at = clock.MomentField(default=clock.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="fileslocation_is_one")]

    def __str__(self) -> str:
        return self.shown
