"""Links that open a report without an account."""

from functools import cached_property

from django.conf import settings
from django.db import models
from django.db.models import Q

from analysis.models import Export, Report
from studies.models.keys import public_id
from studies.statements import clock


class ShareLink(models.Model):
    """A link that opens one report for anyone who has it, without rows about annotators.

    The key is shown once and never stored. `public_id` finds the row, `key_hash` checks the key.
    """

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    report = models.ForeignKey(Report, on_delete=models.PROTECT, related_name="share_links")
    key_hash = models.CharField(max_length=64, editable=False)
    note = models.CharField(max_length=120, blank=True, help_text="Who gets it.")
    is_blind = models.BooleanField(
        default=False, help_text="For blind review: shows no names until an owner reveals them."
    )
    revealed_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    opened = models.PositiveIntegerField(default=0, help_text="How often it was opened.")
    last_opened_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=~Q(key_hash=""), name="share_link_has_key"),
        ]

    def __str__(self) -> str:
        return f"share link of report {self.report_id}"

    @property
    def is_valid(self) -> bool:
        """Whether the link still opens the report."""
        return self.revoked_at is None and clock.now() < self.expires_at

    @property
    def hides_names(self) -> bool:
        """Whether it shows the page without names."""
        return self.is_blind and self.revealed_at is None

    @cached_property
    def bundle(self) -> Export | None:
        """Files that it offers next to the report: the newest export made for it."""
        return Export.objects.filter(made_for=self.public_id).order_by("-pk").first()
