"""Attempts to sign in, for limits and for an administrator's review after an attack."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.statements import clock


class SignIn(models.Model):
    """One attempt to sign in, or one request for a link that resets a password."""

    class Outcome(models.TextChoices):
        FAILED = "failed", "failed"
        SUCCEEDED = "succeeded", "succeeded"
        RESET = "reset", "asked for a reset link"

    # Somebody may type a password into the wrong field, so only a keyed hash is stored.
    account = models.CharField(max_length=64, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    address = models.CharField(max_length=50)
    outcome = models.CharField(max_length=10, choices=Outcome, default=Outcome.FAILED)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name = "sign-in"
        constraints = [
            models.CheckConstraint(
                condition=Q(outcome__in=["failed", "succeeded", "reset"]), name="sign_in_outcome"
            ),
        ]
        indexes = [
            models.Index(fields=["account", "created_at"], name="sign_in_by_account"),
            models.Index(fields=["address", "created_at"], name="sign_in_by_address"),
            models.Index(fields=["created_at"], name="sign_in_by_age"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id or 'unknown account'}: {self.outcome}"
