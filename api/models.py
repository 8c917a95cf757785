"""Requests with an idempotency key."""

from django.conf import settings
from django.db import models

from studies.statements import clock


class IdempotentRequest(models.Model):
    """The response to a request, stored in the same transaction as its changes."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request_sha256 = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    body = models.TextField(blank=True)
    created_at = clock.MomentField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_per_user")
        ]

    def __str__(self) -> str:
        return f"{self.key} of {self.user_id}"
