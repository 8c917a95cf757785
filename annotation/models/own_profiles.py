"""Profiles that annotators allow others to see."""

import secrets

from django.db import models
from django.db.models import Q

from annotation.models.annotators import Annotator
from studies.statements import clock


def persona_key() -> str:
    """A name that says nothing about the annotator and is unique in the installation."""
    return f"own-{secrets.token_hex(8)}"


class OwnProfile(models.Model):
    """What an annotator decided about being shown to others, who judge for them.

    `features` and `text` are exactly what the annotator saw when they agreed; without consent both
    are empty. Every persona with `persona_key`, in any study, is made of this profile.
    """

    annotator = models.OneToOneField(
        Annotator, on_delete=models.PROTECT, related_name="own_profile"
    )
    persona_key = models.CharField(max_length=40, unique=True, default=persona_key, editable=False)
    is_shown = models.BooleanField(default=False)
    features = models.JSONField(default=list, blank=True)
    text = models.TextField(blank=True)
    examples = models.PositiveSmallIntegerField(
        default=0, help_text="How many of their answers others may see with each item."
    )
    decided_at = models.DateTimeField()
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(is_shown=True) | Q(features=[], text="", examples=0),
                name="own_profile_empty_without_consent",
            )
        ]

    def __str__(self) -> str:
        return f"{self.annotator_id}: {'shown' if self.is_shown else 'not shown'}"
