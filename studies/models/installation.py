"""Rows about the installation: where files are, backups, heartbeats of processes, sign-ins."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.statements import clock


class FilesLocation(models.Model):
    """The one place where every process of the installation keeps files; at most one row.

    The first process stores its own; a process with another one does not start.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1, editable=False)
    location = models.CharField(max_length=500, help_text="The storage, or the id of a folder.")
    shown = models.CharField(max_length=500, help_text="The machine and its folder, for people.")
    noted_at = clock.MomentField(default=clock.now)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(id=1), name="fileslocation_is_one")]

    def __str__(self) -> str:
        return self.shown


class Backup(models.Model):
    """A file that `backup` wrote, or that was restored. Copies of it are unknown."""

    file = models.TextField(help_text="Where it was written.")
    sha256 = models.CharField(max_length=64, unique=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    holds_secret_key = models.BooleanField(default=False)
    taken_at = clock.MomentField(default=clock.now, help_text="The moment of its data.")
    created_at = clock.MomentField(auto_now_add=True)

    class Meta:
        ordering = ["-taken_at", "-pk"]
        constraints = [
            models.CheckConstraint(condition=~models.Q(sha256=""), name="backup_has_checksum")
        ]

    def __str__(self) -> str:
        return f"backup of {self.taken_at:%Y-%m-%d %H:%M}"


class Heartbeat(models.Model):
    """The last heartbeat of a process of each role, and which process it was."""

    class Role(models.TextChoices):
        WORKER = "worker", "worker"
        JUDGE_WORKER = "judge_worker", "judge worker"
        SCHEDULE = "schedule", "schedule"

    role = models.CharField(max_length=20, primary_key=True, choices=Role, editable=False)
    process = models.CharField(max_length=200, help_text="Its machine and number.")
    version = models.CharField(max_length=100, help_text="Of the program.")
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(role__in=["worker", "judge_worker", "schedule"]),
                name="heartbeat_role",
            )
        ]

    def __str__(self) -> str:
        return f"{self.role} {self.process}"


class SignIn(models.Model):
    """One attempt to sign in, or one request for a link that resets a password."""

    class Outcome(models.TextChoices):
        FAILED = "failed", "failed"
        SUCCEEDED = "succeeded", "succeeded"
        RESET = "reset", "asked for a reset link"

    # Only a keyed hash is stored, because people type passwords into the wrong field.
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


class SecondStep(models.Model):
    """What users who switched it on need besides their password.

    `secret` is encrypted. Recovery codes have 40 random bits and are stored as slow salted hashes
    of their SHA-256. A code from the app works once: `last_period` is the half minute of the last
    one.
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
