"""Requests with an idempotency key; webhooks and their deliveries."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models import Study
from studies.models.keys import public_id
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


class Event(models.TextChoices):
    RUN_FINISHED = "run.finished", "a run has ended or stopped"
    REPORT_READY = "report.ready", "a report is built, or failed"
    EXPORT_READY = "export.ready", "an export is written, or failed"
    STUDY_COMPLETE = "study.complete", "every answer wanted is there"
    TEST = "test", "a test"


class Webhook(models.Model):
    """An address that receives events of a study. Its secret is encrypted."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="webhooks")
    url = models.CharField(max_length=500)
    events = models.JSONField(default=list)
    sealed_secret = models.TextField(editable=False)
    seen_until = clock.MomentField(
        default=clock.now, help_text="Up to when events were looked for."
    )
    seen_seats = models.PositiveBigIntegerField(
        default=0, help_text="Answers wanted when the study was last complete."
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.study_id}: webhook {self.public_id}"

    @property
    def event_labels(self) -> list[str]:
        return [str(event.label) for event in Event if event in self.events]


class Delivery(models.Model):
    """An event for one address, sent until it arrives or too many attempts have failed."""

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        DELIVERED = "delivered", "delivered"
        FAILED = "failed", "failed"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.CharField(max_length=20, choices=Event)
    subject = models.CharField(max_length=80, help_text="What happened, once for each address.")
    payload = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    next_attempt_at = clock.MomentField(default=clock.now)
    message = models.CharField(max_length=300, blank=True, help_text="What came back last.")
    created_at = clock.MomentField(auto_now_add=True)
    delivered_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        verbose_name_plural = "deliveries"
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "event", "subject"], name="delivery_once_per_event"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "delivered", "failed"]), name="delivery_state"
            ),
            models.CheckConstraint(
                condition=~Q(state="delivered") | Q(delivered_at__isnull=False),
                name="delivery_has_time",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_attempt_at"], condition=Q(state="waiting"), name="delivery_due"
            )
        ]

    def __str__(self) -> str:
        return f"{self.event} to {self.webhook_id}"
