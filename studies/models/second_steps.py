"""The second step of signing in: a code from an app, after the password."""

from django.conf import settings
from django.db import models

from studies.statements import clock


class SecondStep(models.Model):
    """What a user who switched it on needs besides a password.

    `secret` is encrypted; of the recovery codes, which have 40 random bits, slow hashes with a salt
    are stored, around the SHA-256 that was stored at first. A code from the app counts
    once: `last_period` is the half minute of the newest one.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="second_step"
    )
    secret = models.CharField(max_length=300, editable=False)
    recovery_sha256 = models.JSONField(default=list, editable=False)
    last_period = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        verbose_name = "second step of signing in"
        verbose_name_plural = "second steps of signing in"

    def __str__(self) -> str:
        return str(self.user_id)
