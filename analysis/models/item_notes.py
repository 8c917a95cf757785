"""Notes and tags that researchers give items while they look at disagreements."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models.studies import Study
from studies.statements import clock


class ItemNote(models.Model):
    """The note on an item, one for all members of the study; `version` counts its changes."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="item_notes")
    item = models.OneToOneField("studies.Item", on_delete=models.CASCADE, related_name="note")
    text = models.TextField(blank=True)
    version = models.PositiveIntegerField(default=1)
    changed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    changed_at = models.DateTimeField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        verbose_name_plural = "notes"

    def __str__(self) -> str:
        return f"note on item {self.item_id}"


class ItemTag(models.Model):
    """A tag of an item, in lower case."""

    note = models.ForeignKey(ItemNote, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["note", "name"], name="item_tag_once"),
            models.CheckConstraint(condition=~Q(name=""), name="item_tag_has_name"),
        ]

    def __str__(self) -> str:
        return self.name
