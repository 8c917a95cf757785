"""Rows of the installation: stored files, backups, signs of life of processes, and sign-ins."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.statements import clock


class StoredFile(models.Model):
    """A file, if the setting FILES is `database`. Without a kind it is being written."""

    kind = models.CharField(max_length=20, blank=True, help_text="reports, exports, imports, …")
    owner = models.CharField(max_length=100, help_text="The public id of the row it belongs to.")
    path = models.CharField(max_length=500)
    size = models.PositiveBigIntegerField(default=0, help_text="Bytes.")
    created_at = clock.MomentField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["kind", "owner", "path"], name="storedfile_name"),
            models.CheckConstraint(condition=~Q(owner="") & ~Q(path=""), name="storedfile_named"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}/{self.owner}/{self.path}"


class StoredBlock(models.Model):
    """The bytes of a file from `number` times the size of a block."""

    file = models.ForeignKey(StoredFile, on_delete=models.CASCADE, related_name="blocks")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["file", "number"], name="storedblock_number"),
        ]

    def __str__(self) -> str:
        return f"block {self.number} of file {self.file_id}"


class FilesLocation(models.Model):
    """The one place where every process of the installation keeps files; at most one row.

    The first process that starts notes its own, and one that has another is refused.
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
    """One file that `backup` wrote, or that was restored. Where copies of it are is not known."""

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
    """When a process of each role was last heard of, and which."""

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
