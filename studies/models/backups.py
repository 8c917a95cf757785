"""Backups of the installation that were made: what may still hold data that was deleted here."""

from django.db import models

from studies.statements import clock


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
