"""Invitations to work on a study, and tokens with which a program acts as a user."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models.keys import public_id
from studies.models.studies import Membership, Study
from studies.statements import clock


class Invitation(models.Model):
    """A link that makes one person a member of a study. Only a hash of its secret is stored."""

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="team_invitations")
    role = models.CharField(max_length=10, choices=Membership.Role, default=Membership.Role.VIEWER)
    note = models.CharField(max_length=200, blank=True, help_text="Whom it is for.")
    secret_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, help_text="When it was accepted or withdrawn.")

    class Meta:
        ordering = ["-created_at", "-pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=["owner", "editor", "viewer"]), name="invitation_role"
            )
        ]

    def __str__(self) -> str:
        return f"{self.role} of {self.study_id}"


class AccessToken(models.Model):
    """Lets a program do what its user may do, as far as its scopes go. Only a hash is stored."""

    class Scope(models.TextChoices):
        READ = "read", "read"
        WRITE = "write", "change"
        SPEND = "spend", "spend"
        EXPORT = "export", "export"

    public_id = models.CharField(max_length=22, unique=True, default=public_id, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="access_tokens"
    )
    name = models.CharField(max_length=100)
    token_sha256 = models.CharField(max_length=64, unique=True, editable=False)
    scopes = models.JSONField(default=list, help_text="What it may do: values of Scope.")
    created_at = clock.MomentField(auto_now_add=True)
    expires_at = models.DateTimeField()
    window_started_at = models.DateTimeField(null=True, help_text="The last minute of its use.")
    window_requests = models.PositiveIntegerField(default=0, help_text="Requests in that minute.")
    used_at = models.DateTimeField(null=True, help_text="To the day.")

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"{self.name} of {self.user_id}"

    @property
    def scope_labels(self) -> list[str]:
        return [str(scope.label) for scope in self.Scope if scope in self.scopes]
