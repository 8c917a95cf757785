from django.conf import settings
from django.db import models
from django.db.models import Q

from annotation.models import ProlificSubmission
from studies.models import Study
from studies.statements import clock


class ProlificMessage(models.Model):
    """A message to annotators on Prolific: a draft until a user sends it."""

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="prolific_messages")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL
    )
    audience = models.CharField(max_length=100, help_text="To whom, as the page offers it.")
    text = models.TextField()
    sent_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"message {self.pk}"


class MessageRecipient(models.Model):
    """One recipient of a sent message, stored before it is sent so that nobody gets it twice."""

    class State(models.TextChoices):
        WAITING = "waiting", "not sent yet"
        SENDING = "sending", "sent, not yet confirmed"
        SENT = "sent", "sent"
        REFUSED = "refused", "refused"

    message = models.ForeignKey(
        ProlificMessage, on_delete=models.CASCADE, related_name="recipients"
    )
    submission = models.ForeignKey(
        ProlificSubmission, null=True, on_delete=models.SET_NULL, related_name="messages"
    )
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    tried_at = models.DateTimeField(null=True, blank=True)
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.UniqueConstraint(
                fields=["message", "submission"], name="message_once_per_submission"
            ),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "sending", "sent", "refused"]),
                name="message_recipient_state",
            ),
        ]

    def __str__(self) -> str:
        return f"recipient {self.pk}: {self.state}"


class UnreadMessages(models.Model):
    """How many messages about a study nobody has read on Prolific, as last read."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="unread_messages")
    count = models.PositiveIntegerField(default=0)

    class Meta:
        verbose_name_plural = "unread messages"

    def __str__(self) -> str:
        return f"{self.count} unread"
