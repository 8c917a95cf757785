"""Signs of life of the processes that nobody visits."""

from django.db import models


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
