"""The pictures and sounds of a study's items."""

from typing import Any

from django.db import models

from studies.models import Study
from studies.models.keys import public_id
from studies.statements import clock


class MediaFile(models.Model):
    """A picture or sound of a study's items, stored once as media/<public_id>/….

    Items name it by its checksum. It never changes.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="media")
    sha256 = models.CharField(max_length=64, editable=False)
    type = models.CharField(max_length=30, help_text="Its media type, found in its content.")
    size = models.PositiveIntegerField(help_text="Bytes.")
    width = models.PositiveIntegerField(null=True, help_text="Pixels; of a picture.")
    height = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(null=True, help_text="Of a sound.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        db_table = "studies_mediafile"
        verbose_name = "picture or sound"
        verbose_name_plural = "pictures and sounds"
        constraints = [
            models.UniqueConstraint(fields=["study", "sha256"], name="media_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.sha256[:12]}"

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that an item stores about it."""
        own = {"sha256": self.sha256, "type": self.type, "size": self.size}
        if self.seconds is not None:
            return own | {"seconds": self.seconds}
        return own | {"width": self.width, "height": self.height}
