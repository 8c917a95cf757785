"""The pictures, sounds and films of a study's items."""

from typing import Any

from django.db import models

from studies.media import facts_of_file
from studies.models import Study
from studies.models.keys import public_id
from studies.statements import clock


class MediaFile(models.Model):
    """A picture, sound or film of a study's items, stored once as media/<public_id>/….

    Items name it by its checksum. It never changes. So are captions and frames of films.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="media")
    sha256 = models.CharField(max_length=64, editable=False)
    type = models.CharField(max_length=30, help_text="Its media type, found in its content.")
    size = models.PositiveIntegerField(help_text="Bytes.")
    width = models.PositiveIntegerField(null=True, help_text="Pixels; of a picture or film.")
    height = models.PositiveIntegerField(null=True)
    seconds = models.FloatField(null=True, help_text="Of a sound or film.")
    has_sound = models.BooleanField(null=True, help_text="Of a film.")
    frames = models.JSONField(
        default=list,
        help_text="What judges get of a film, in the order of time: files with their seconds.",
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        db_table = "studies_mediafile"
        verbose_name = "picture, sound or film"
        verbose_name_plural = "pictures, sounds and films"
        constraints = [
            models.UniqueConstraint(fields=["study", "sha256"], name="media_once_per_study")
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.sha256[:12]}"

    @property
    def facts(self) -> dict[str, Any]:
        """The facts that an item stores about it."""
        return facts_of_file(self)
