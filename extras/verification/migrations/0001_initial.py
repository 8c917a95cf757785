import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("analysis", "0001_initial"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Recheck",
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
                (
                    "found",
                    models.JSONField(
                        help_text="The number of changed values, the first of them, and the reasons.",
                        null=True,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="rechecks",
                        to="analysis.report",
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at", "-pk"],
                "abstract": False,
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["queued", "running", "done", "failed", "gone"])
                        ),
                        name="recheck_state",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("progress__range", (0, 100))), name="recheck_progress"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state__in", ["failed", "gone"]), _negated=True),
                            models.Q(("message", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="recheck_end_says_why",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "done"), _negated=True),
                            models.Q(("finished_at__isnull", False), ("found__isnull", False)),
                            _connector="OR",
                        ),
                        name="recheck_done_has_found",
                    ),
                ],
            },
        ),
    ]
