import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="BackupJob",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "waiting for a worker"),
                            ("running", "running"),
                            ("done", "done"),
                            ("failed", "failed"),
                            ("gone", "file deleted"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                ("progress", models.PositiveSmallIntegerField(default=0, help_text="Percent.")),
                (
                    "message",
                    models.TextField(
                        default="Waiting for a worker.",
                        help_text="What happens at the moment, what came out, or why it failed.",
                    ),
                ),
                (
                    "attempts",
                    models.PositiveSmallIntegerField(
                        default=0, help_text="Workers that started it."
                    ),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "heartbeat_at",
                    models.DateTimeField(
                        default=django.utils.timezone.now,
                        help_text="When its worker was last heard of, or it was queued.",
                    ),
                ),
                ("finished_at", models.DateTimeField(blank=True, null=True)),
                (
                    "expires_at",
                    models.DateTimeField(
                        blank=True, help_text="When its files are deleted. Empty: never.", null=True
                    ),
                ),
                ("user_name", models.CharField(max_length=150)),
                (
                    "action",
                    models.CharField(
                        choices=[("make", "backup"), ("restore", "restore")], max_length=10
                    ),
                ),
                ("file", models.TextField(help_text="On the worker's disk.")),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "done", "failed", "gone"])
                        ),
                        name="backupjob_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("progress__range", (0, 100))), name="backupjob_progress"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["failed", "gone"]), _negated=True),
                            models.Q(("message", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="backupjob_end_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("action__in", ["make", "restore"])),
                        name="backupjob_action",
                    ),
                ],
            },
        ),
    ]
